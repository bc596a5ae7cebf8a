// A library plugin of another build of SoftNeuro. Whatever follows the tag may have changed since.
struct intree_plugin {
  const char* tag;
  const void* rest[2];
};

extern const struct intree_plugin sn_intree_plugin;
__attribute__((visibility("default")))
const struct intree_plugin sn_intree_plugin = {"0.0.9-0123456789abcdef", {0, 0}};
