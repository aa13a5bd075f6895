#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of proto_tables.h from a descriptor set that protoc wrote.

    host/kube/protobuf/make_tables.py DESCRIPTOR_SET OUTPUT

Run by the build. Exit status 1, with the reason, for a schema that the tables cannot hold. Reads the set by itself, so
that no library of protobuf is needed.
"""

import re
import sys

NUMBER_MAX = 63  # ObjectTranscoder notes the fields of a message in 64 bits
# FieldDescriptorProto.Type. Bytes are read by envelope.cpp alone, by their number.
TYPES = {3: "kInt64", 5: "kInt32", 8: "kBool", 9: "kText", 11: "kMessage", 12: "kUnread"}
NUMBERS = {"kInt64", "kInt32", "kBool"}
LEAVES = {"Quantity": "kQuantity", "Time": "kTime"}
REPEATED = 3  # FieldDescriptorProto.Label


class SchemaError(Exception):
    """The schema has what the tables cannot hold."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields_of(data):
    """{number: [value]} of one message: integers, and bytes of what has a length."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise SchemaError(f"wire type {tag & 7} in a descriptor")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def text(fields, number):
    return fields[number][0].decode() if number in fields else ""


def read_messages(data):
    """{name: descriptor} of all messages, those of maps included."""
    messages = {}

    def add(name, descriptor):
        messages[name] = descriptor
        for nested in descriptor.get(3, []):
            inner = fields_of(nested)
            add(f"{name}.{text(inner, 1)}", inner)

    for file in fields_of(data)[1]:
        descriptor = fields_of(file)
        for message in descriptor.get(4, []):
            inner = fields_of(message)
            add(f".{text(descriptor, 2)}.{text(inner, 1)}", inner)
    return messages


def short(name):
    return name.rsplit(".", 1)[-1]


def kind_of(field):
    type_number = field[5][0]
    if type_number not in TYPES:
        raise SchemaError(f"{text(field, 1)}: type {type_number}")
    return LEAVES.get(short(text(field, 6)), TYPES[type_number])


def read_field(field, messages, numbers):
    """(number, initializer) of one field."""
    number, name = field[3][0], text(field, 1)
    if number > NUMBER_MAX:
        raise SchemaError(f"{name} = {number}: at most {NUMBER_MAX}")
    kind, shape, target = kind_of(field), "kOne", text(field, 6)
    omits_zero = not field.get(17, [0])[0]
    if field[4][0] == REPEATED:
        shape, omits_zero = "kList", False
        entry = messages.get(target)
        if entry and fields_of(entry.get(7, [b""])[0]).get(7, [0])[0]:
            value = next(part for part in map(fields_of, entry[2]) if part[3][0] == 2)
            shape, kind, target = "kMap", kind_of(value), text(value, 6)
    if shape == "kMap" and (kind == "kMessage" or kind in NUMBERS):
        raise SchemaError(f"{name}: a map of messages or numbers")
    if shape == "kList" and kind in NUMBERS:
        raise SchemaError(f"{name}: a list of numbers")
    key = f'"{name}":'
    if 10 in field and text(field, 10) == "":
        shape, key = "kInlined", ""
    index = numbers[target] if kind == "kMessage" else 0
    escaped = key.replace('"', '\\"')
    return number, f'{{FieldKind::{kind}, FieldShape::{shape}, {str(omits_zero).lower()}, {index}, "{escaped}"}}'


def refuse_recursion(messages):
    """A message within itself would let the depth of an object depend on its bytes."""
    done = set()

    def visit(name, above):
        if name in above:
            raise SchemaError(f"{name} is within itself")
        if name in done:
            return
        for part in map(fields_of, messages[name].get(2, [])):
            if text(part, 6):
                visit(text(part, 6), above | {name})
        done.add(name)

    for name in messages:
        visit(name, frozenset())


def tables(data):
    messages = read_messages(data)
    refuse_recursion(messages)
    kept = [name for name, message in messages.items()
            if short(name) not in LEAVES and not re.search(r"\..*\..*\..*Entry$", name)]
    numbers = {name: index for index, name in enumerate(kept)}
    lines, rows = [], []
    for name in kept:
        parts = dict(read_field(fields_of(part), messages, numbers) for part in messages[name].get(2, []))
        count = max(parts, default=-1) + 1
        lines.append(f"constexpr std::array<ProtoField, {count}> kFieldsOf{short(name)} = {{{{")
        lines += [f"    {parts.get(number, '{}')}," for number in range(count)]
        lines.append("}};")
        rows.append(f'    {{"{short(name)}", kFieldsOf{short(name)}}},')
    lines.append(f"constexpr std::array<ProtoMessage, {len(rows)}> kMessages = {{{{")
    return "\n".join(lines + rows + ["}};"]) + "\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        made = tables(data)
    except SchemaError as error:
        print(f"{sys.argv[1]}: {error}", file=sys.stderr)
        return 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("// Made by host/kube/protobuf/make_tables.py; included by proto_tables.cpp and proto_numbers.h.\n" + made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
