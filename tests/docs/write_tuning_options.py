#!/usr/bin/env python3
"""Writes docs/tuning-options.md from the declarations in tune.h and c_tune.h.

    tests/docs/write_tuning_options.py            in place
    tests/docs/write_tuning_options.py --check    exit status 1 if it would change
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = (ROOT / "include/softneuro/tune.h").read_text()
C = (ROOT / "include/softneuro/c_tune.h").read_text()
TOOL = "".join(file.read_text() for file in sorted((ROOT / "tools").glob("*.cpp")))
PAGE = ROOT / "docs/tuning-options.md"

COMMAND_LINE = {
    "schemas": "--schemas LIST",
    "shapes": "--shape NAME=SIZES",
    "threads": "--threads N",
    "calibration": "--calibration DIR",
    "max_error": "--max-error E, --limit V",
    "time_limit": "--time-limit S",
    "strict": "--strict",
    "avoid": "--avoid PATTERN",
    "pin": "--pin LAYER=ROUTINE",
    "range": "--range mse|percentile|minmax",
    "validation": "--validation DIR",
    "metric": "--metric KIND",
    "score": "--metric COMMAND",
    "max_memory": "--max-memory BYTES",
    "measure_sensitivity": "--sensitivity",
    "exhaustive": "--exhaustive",
    "pin_threads": "always",
    "folder": "--cache DIR",
    "disabled": "--no-cache",
}
INTRO = """# Tuning options

<!-- Generated: do not edit. -->

The options of `Net::tune` (`TuneOptions`), `sn_net_tune` (`sn_tune_options`) and `softneuro tune`.
[tuning.md](tuning.md) says what they are for. C has the names of C++; its groups are structs of
their own that the options point to, with null and zero for the defaults.

Generated from `include/softneuro/tune.h` and `c_tune.h`, whose comments it shows:

    tests/docs/write_tuning_options.py
"""


def body_of(text, begin):
    """The lines of a struct or an enum, and the comment above it."""
    found = re.search(r"((?://[^\n]*\n)*)" + re.escape(begin) + r" \{\n(.*?)^\}", text, re.M | re.S)
    return found.group(2).splitlines(), " ".join(re.findall(r"// ?(.*)", found.group(1)))


def members(lines):
    """(declaration, comment) of each member; comments stand above it or behind it."""
    comment, declaration = [], ""
    for line in lines:
        code, _, behind = line.partition("//")
        comment += [behind.strip()] if behind else []
        declaration += " " + code.strip()
        if declaration.rstrip().endswith((";", ",")):
            yield declaration.strip(), " ".join(comment)
            comment, declaration = [], ""


def fields(struct):
    """(type, name, default, meaning) of a struct's fields."""
    for declaration, comment in members(body_of(CPP, f"struct {struct}")[0]):
        type_name, name, default = re.match(r"(.*?)(\w+)(?: = (.*)|\{0\})?;$", declaration).groups()
        if re.search(rf"^enum class {type_name.strip()} ", CPP, re.M):
            for value, meaning in members(body_of(CPP, f"enum class {type_name.strip()}")[0]):
                comment += f"<br>`{value[:-1]}`: {meaning}"
        if default in (None, "{}", "false", "nullptr", "0") or default.startswith("std::"):
            default = ""
        yield type_name.strip(), name, default, comment


def c_fields(struct):
    """C++ field → what to say of the members of C that stand for it."""
    text = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", C, re.S).group(1)
    cells, name = {}, ""
    for member, comment in re.findall(r"(\w+);(?:\s*/\* *(.*?) *\*/)?", text, re.S):
        if not re.search(r"_(count|context)$", member):
            name = member
            cells[name] = ""
        cell = f"`{member}`" + (" (" + re.sub(r"\s+", " ", comment) + ")" if comment else "")
        cells[name] += (", " if cells[name] else "") + cell
    cells.pop("struct_size")
    return cells


def escaped(text):
    """Text of a comment for a cell: the code in it stays as it is."""
    parts = re.split(r"(`[^`]*`|<br>)", text)
    text = "".join(p if p[:1] in "`<" else re.sub(r"([*<])", r"\\\1", p) for p in parts)
    return text.replace("|", r"\|")


def table(struct, c_struct):
    c = c_fields(c_struct)
    groups, rows = [], ["| C++ | C | command line | |", "| --- | --- | --- | --- |"]
    for type_name, name, default, meaning in fields(struct):
        if name not in c:
            sys.exit(f"{c_struct} in c_tune.h has no {name}")
        if type_name.startswith("Tune"):
            groups.append(name)
            continue
        line = COMMAND_LINE.get(name, "")
        for option in re.findall(r"--[\w-]+", line):
            if f'"{option}"' not in TOOL:
                sys.exit(f"tools/ has no {option}")
        cpp = f"`{name} = {default}`" if default else f"`{name}`"
        shown = ", ".join(f"`{part}`" for part in line.split(", ") if part)
        rows.append("| " + " | ".join(escaped(cell) for cell in (cpp, c[name], shown, meaning)) + " |")
    return groups, "\n".join(rows)


def page():
    groups, text = table("TuneOptions", "sn_tune_options")
    text = INTRO + "\n" + text + "\n"
    for group in groups:
        name = f"Tune{group.capitalize()}"
        about = body_of(CPP, f"struct {name}")[1]
        text += f"\n## {group}\n\n`{name}`, `sn_tune_{group}`. {escaped(about)}\n\n"
        text += table(name, f"sn_tune_{group}")[1] + "\n"
    about = body_of(CPP, "struct SampleSource")[1]
    text += f"\n## Sources of samples\n\n`SampleSource`, `sn_sample_source`. {escaped(about)}\n\n"
    return text + table("SampleSource", "sn_sample_source")[1] + "\n"


def main():
    text = page()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE} is not what tune.h says: run tests/docs/write_tuning_options.py")


if __name__ == "__main__":
    main()
