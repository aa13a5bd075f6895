# SPDX-License-Identifier: Apache-2.0
"""Small bad files, written by hand: what people and tools put where a cluster, a configuration or a spec belongs."""

from derived import HOSTILE, dump

H = dump(HOSTILE).encode()
POD = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"containers":[{"name":"c"}]%s}}'
NODE = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{%s}}}'


def pod(spec=b"", name=b"p"):
    return POD % (name, b"," + spec if spec else b"")


def requests(entries):
    return (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":'
            b'{"requests":{%s}}}]}}' % entries)


def spread(fields):
    return pod(b'"topologySpreadConstraints":[{%s}]' % fields)


def affinity(kind, fields):
    return pod(b'"affinity":{"%s":{"requiredDuringSchedulingIgnoredDuringExecution":%s}}' % (kind, fields))


# Where kubectl or a pipe put something else than objects.
NOT_OBJECTS = {
    "empty": b"",
    "blanks": b" \n\t\n  ",
    "byte_order_mark": b"\xef\xbb\xbf",
    "newlines": b"\n" * 5000,
    "kubectl_forbidden": b'Error from server (Forbidden): nodes is forbidden: User "x" cannot list resource "nodes"\n',
    "kubectl_refused": b"The connection to the server localhost:8080 was refused - did you specify the right host?\n",
    "kubectl_nothing": b"No resources found in default namespace.\n",
    "kubectl_table": b"NAME   STATUS   ROLES   AGE   VERSION\nn0     Ready    <none>  3d    v1.35.0\n",
    "html": b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>\n",
    "helm_template": b"apiVersion: v1\nkind: {{ .Values.kind }}\nmetadata:\n  name: {{ .Release.Name }}\n",
    "terraform": b'resource "kubernetes_pod" "p" {\n  metadata { name = "p" }\n}\n',
    "toml": b"[cluster]\nname = 'a'\n",
    "csv": b"name,cpu\na,1\n",
    "shell": b"#!/bin/sh\nset -e\nkubectl get pods\n",
    "elf": b"\x7fELF\x02\x01\x01" + b"\x00" * 60,
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "utf16": "kind: Pod\n".encode("utf-16"),
    "utf16_without_mark": "kind: Pod\n".encode("utf-16-le"),
    "utf32": "kind: Pod\n".encode("utf-32"),
    "latin1": b"kind: caf\xe9\n",
    "nul_bytes": b"\x00" * 5000,
    "nul_inside": b'{"apiVersion":"v1","kind":"Pod\x00"}',
    "all_bytes": bytes(range(256)),
    "escape_sequences": b"\x1b[2J\x1b]0;title\x07\x1b[31mkind: Pod\n",
    "hostile_line": HOSTILE.encode(),
    "lone_null": b"null",
    "lone_number": b"42",
    "lone_text": b'"text"',
    "lone_list": b"[]",
    "list_of_numbers": b"[1, 2, 3]",
    "empty_object": b"{}",
    "two_empty_objects": b"{}{}",
    "status": b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","code":401}',
    "status_yaml": b"kind: Status\napiVersion: v1\nstatus: Failure\nmessage: Unauthorized\ncode: 401\n",
    "table": b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[],"rows":[]}',
    "items_null": b'{"apiVersion":"v1","kind":"List","items":null}',
    "items_object": b'{"apiVersion":"v1","kind":"List","items":{}}',
    "items_text": b'{"apiVersion":"v1","kind":"List","items":"none"}',
    "items_number": b'{"apiVersion":"v1","kind":"PodList","items":7}',
    "items_twice": b'{"apiVersion":"v1","kind":"List","items":[],"items":[]}',
    "items_of_null": b'{"apiVersion":"v1","kind":"List","items":[null,null]}',
    "items_of_text": b'{"apiVersion":"v1","kind":"List","items":["a","b"]}',
    "items_before_kind": b'{"items":[{"metadata":{"name":"a"}}],"kind":"PodList","apiVersion":"v1"}',
    "items_without_kind": b'{"items":[{"metadata":{"name":"a"}}]}',
    "items_of_a_pod": b'{"apiVersion":"v1","kind":"Pod","items":[]}',
    "list_in_list": b'{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[' + pod() + b"]}]}",
    "watch_events": b'{"type":"ADDED","object":' + pod() + b"}\n" + b'{"type":"DELETED","object":' + pod() + b"}\n",
    "kubeconfig": b"apiVersion: v1\nkind: Config\nclusters: []\nusers: []\n",
    "scheduler_configuration": b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
    "kind_alone": b"kind: Pod\n",
    "api_version_alone": b"apiVersion: v1\n",
    "kind_in_lower_case": b'{"apiVersion":"v1","kind":"pod","metadata":{"name":"p"},"spec":{"containers":[]}}',
    "kind_in_upper_case": b'{"apiVersion":"v1","kind":"POD","metadata":{"name":"p"},"spec":{"containers":[]}}',
    "keys_in_upper_case": b'{"APIVERSION":"v1","KIND":"Pod","METADATA":{"NAME":"p"},"SPEC":{}}',
    "kind_a_number": b'{"apiVersion":"v1","kind":7}',
    "kind_hostile": b'{"apiVersion":"v1","kind":' + H + b"}",
    "group_hostile": b'{"apiVersion":' + H + b',"kind":"Pod"}',
    "kind_a_megabyte": b'{"apiVersion":"v1","kind":"' + b"K" * (1 << 20) + b'"}',
    "many_kinds": b"".join(b'{"apiVersion":"v1","kind":"K%d"}\n' % i for i in range(5000)),
}

# JSON and YAML that does not parse, or parses to something surprising.
SYNTAX = {
    "json_ends_in_object": b'{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"',
    "json_ends_in_text": b'{"apiVersion":"v1","kind":"Li',
    "json_ends_in_escape": b'{"apiVersion":"v1","kind":"Li\\',
    "json_ends_in_number": b'{"apiVersion":"v1","kind":"List","items":[1',
    "json_comment": b'{/* comment */"apiVersion":"v1","kind":"Pod"}',
    "json_trailing_comma": b'{"apiVersion":"v1","kind":"List","items":[],}',
    "json_single_quotes": b"{'apiVersion':'v1','kind':'Pod'}",
    "json_unquoted": b"{apiVersion: v1, kind: Pod, metadata: {name: p}}",
    "json_garbage_behind": pod() + b" trailing garbage",
    "json_bracket_behind": pod() + b"]",
    "json_mismatched": b'{"apiVersion":"v1","kind":"List","items":[}',
    "json_nan": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priority":NaN}}',
    "json_leading_zero": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priority":010}}',
    "json_plus": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priority":+1}}',
    "json_lone_surrogate": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"\\ud800"}}',
    "json_raw_newline": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a\nb"}}',
    "json_raw_escape": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a\x1b[2Jb"}}',
    "json_bad_utf8": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a\xff\xfeb"}}',
    "json_overlong_utf8": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a\xc0\x80b"}}',
    "json_duplicate_name": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","name":"b"}}',
    "json_duplicate_spec": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{},"spec":{"containers":[]}}',
    "json_deep_lists": b"[" * 100_000,
    "json_deep_objects": b'{"a":' * 100_000,
    "json_deep_closed": b"[" * 100_000 + b"]" * 100_000,
    "json_deep_in_an_item": b'{"apiVersion":"v1","kind":"List","items":[' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}",
    "json_deep_in_a_field": pod(b'"x":' + b"[" * 1000 + b"]" * 1000),
    "json_deep_item_lists": b'{"apiVersion":"v1","kind":"List","items":[' * 1000,
    "json_commas": b'{"apiVersion":"v1","kind":"List","items":[' + b"," * 10000 + b"]}",
    "json_quotes": b'"' * 10001,
    "json_backslashes": b'{"kind":"' + b"\\" * 10001,
    "json_number_of_10000_digits": pod(b'"priority":' + b"9" * 10000),
    "json_huge_exponent": pod(b'"priority":1e999999999'),
    "json_integer_beyond_64_bits": pod(b'"priority":7071111107111111111140'),
    "yaml_integer_beyond_64_bits": b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {x: [7071111107111111111140\n,0]}\n",
    "yaml_float_forms": b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {x: [.inf, -.inf, .nan, 1e400, 0x1p3]}\n",
    "yaml_octal_and_sexagesimal": b"apiVersion: v1\nkind: Node\nmetadata: {name: 0o17}\nspec: {x: [010, 1:30:00, 0b11]}\n",
    "yaml_tabs": b"kind: Pod\nmetadata:\n\tname: p\n",
    "yaml_bad_indent": b"kind: Pod\n metadata:\n   name: p\n  spec: {}\n",
    "yaml_unclosed_quote": b'kind: "Pod\nmetadata: {name: p}\n',
    "yaml_unclosed_flow": b"kind: Pod\nspec: {containers: [\n",
    "yaml_duplicate_key": b"kind: Pod\nkind: Node\n",
    "yaml_duplicate_hostile_key": H + b": 1\n" + H + b": 2\n",
    "yaml_null_key": b"? ~\n: 1\n",
    "yaml_list_as_key": b"? [a, b]\n: 1\n",
    "yaml_merge_of_a_scalar": b"<<: 7\nkind: Pod\n",
    "yaml_merge_of_itself": b"a: &a\n  <<: *a\n",
    "yaml_unknown_alias": b"kind: *nothing\n",
    "yaml_hostile_alias": b"kind: *" + b"\xe2\x80\xae" + b"x\n",
    "yaml_alias_of_itself": b"&a [*a]\n",
    "yaml_binary_tag": b"kind: !!binary AAAA\n",
    "yaml_wrong_tag": b"kind: !!int Pod\n",
    "yaml_unknown_tag": b"kind: !something Pod\n",
    "yaml_python_tag": b'kind: !!python/object/apply:os.system ["true"]\n',
    "yaml_bad_directive": b"%YAML 9.9\n---\nkind: Pod\n",
    "yaml_unknown_directive": b"%FOO bar\n---\nkind: Pod\n",
    "yaml_only_separators": b"---\n---\n---\n",
    "yaml_only_document_end": b"...\n...\n",
    "yaml_separators": b"---\n" * 20000,
    "yaml_control_character": b"kind: \x1b[31mPod\n",
    "yaml_c1_control": "kind: \u009b31mPod\n".encode(),
    "yaml_byte_order_mark_inside": b"kind: Pod\n---\n\xef\xbb\xbfkind: Node\n",
    "yaml_carriage_returns": b"apiVersion: v1\rkind: Node\rmetadata: {name: a}\r",
    "yaml_next_line_breaks": "apiVersion: v1\u0085kind: Node\u0085".encode(),
    "yaml_deep_flow": b"a: " + b"[" * 50_000,
    "yaml_deep_block": b"".join(b" " * i + b"a:\n" for i in range(1000)),
    "yaml_deep_sequences": b"- " * 5000 + b"a\n",
    "yaml_billion_laughs": b"a0: &a0 [lol, lol]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 30)),
    "yaml_billion_merges": b"a0: &a0 {x: 1}\n"
    + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 20)),
    "yaml_many_anchors": b"".join(b"a%d: &b%d x\n" % (i, i) for i in range(20000)),
    "yaml_long_key": b"k" * 2000 + b": 1\n",
    "yaml_key_of_a_megabyte": b'? "' + b"k" * (1 << 20) + b'"\n: 1\n',
    "yaml_text_of_two_megabytes": b"apiVersion: v1\nkind: Node\nmetadata:\n  name: " + b"n" * (2 << 20) + b"\n",
    "yaml_comments": b"# comment\n" * 100_000,
    "json_then_yaml": pod() + b"\n---\nkind: Pod\n",
    "yaml_then_json": b"kind: Pod\n---\n" + pod(),
}

# Objects that are wrong in one place.
OBJECTS = {
    "pod_without_spec": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}',
    "pod_without_name": b'{"apiVersion":"v1","kind":"Pod","spec":{"containers":[]}}',
    "pod_with_empty_name": pod(name=b""),
    "pod_with_upper_case_name": pod(name=b"UPPER"),
    "pod_with_a_slash_in_its_name": pod(name=b"a/b"),
    "pod_with_a_path_as_name": pod(name=b"../../etc/passwd"),
    "pod_with_a_long_name": pod(name=b"x" * 100_000),
    "pod_with_a_hostile_name": pod(name=H[1:-1]),
    "pod_twice": pod() + pod(),
    "pod_on_no_node": pod(b'"nodeName":"absent"'),
    "pod_on_a_hostile_node": pod(b'"nodeName":' + H),
    "pod_of_a_hostile_scheduler": pod(b'"schedulerName":' + H),
    "pod_with_1000_ports": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","ports":['
    + b",".join(b'{"hostPort":%d}' % i for i in range(1, 1001)) + b"]}]}}",
    "port_beyond_65535": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"ports":'
    b'[{"hostPort":65536}]}]}}',
    "port_negative": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"ports":'
    b'[{"hostPort":-1}]}]}}',
    "protocol_in_lower_case": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"ports":'
    b'[{"hostPort":80,"protocol":"tcp"}]}]}}',
    "restart_policy_in_lower_case": pod(b'"restartPolicy":"always"'),
    "node_selector_misspelt": pod(b'"nodeselector":{"disk":"ssd"}'),
    "node_selector_of_numbers": pod(b'"nodeSelector":{"a":1}'),
    "node_selector_a_list": pod(b'"nodeSelector":["a"]'),
    "affinity_misspelt": pod(b'"affinity":{"podantiaffinity":{}}'),
    "affinity_a_list": pod(b'"affinity":[]'),
    "anti_affinity_without_topology_key": affinity(b"podAntiAffinity", b'[{"labelSelector":{}}]'),
    "anti_affinity_with_empty_topology_key": affinity(b"podAntiAffinity", b'[{"topologyKey":"","labelSelector":{}}]'),
    "anti_affinity_with_hostile_topology_key": affinity(b"podAntiAffinity", b'[{"topologyKey":' + H + b',"labelSelector":{}}]'),
    "pod_affinity_an_object": affinity(b"podAffinity", b"{}"),
    "node_affinity_without_terms": affinity(b"nodeAffinity", b"{}"),
    "node_affinity_of_null": affinity(b"nodeAffinity", b"null"),
    "node_affinity_of_null_terms": affinity(b"nodeAffinity", b'{"nodeSelectorTerms":[null]}'),
    "node_affinity_unknown_operator": affinity(b"nodeAffinity",
                                               b'{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Like"}]}]}'),
    "node_affinity_gt_of_text": affinity(
        b"nodeAffinity", b'{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}]}]}'),
    "node_affinity_10000_terms": affinity(
        b"nodeAffinity", b'{"nodeSelectorTerms":[' + b",".join(
            b'{"matchExpressions":[{"key":"k%d","operator":"Exists"}]}' % i for i in range(10000)) + b"]}"),
    "selector_with_bad_operator": affinity(
        b"podAffinity", b'[{"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt"}]}}]'),
    "selector_with_hostile_key": affinity(
        b"podAffinity", b'[{"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":' + H + b',"operator":"In"}]}}]'),
    "max_skew_0": spread(b'"maxSkew":0,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"'),
    "max_skew_negative": spread(b'"maxSkew":-1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"'),
    "max_skew_beyond_32_bits": spread(b'"maxSkew":4294967296,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"'),
    "min_domains_0": spread(b'"maxSkew":1,"minDomains":0,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"'),
    "min_domains_of_a_soft_constraint": spread(b'"maxSkew":1,"minDomains":3,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway"'),
    "spread_without_topology_key": spread(b'"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"'),
    "spread_unknown_action": spread(b'"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"Whenever"'),
    "spread_200_soft_constraints": pod(b'"topologySpreadConstraints":[' + b",".join(
        b'{"maxSkew":1,"topologyKey":"z%d","whenUnsatisfiable":"ScheduleAnyway"}' % i for i in range(200)) + b"]"),
    "200_resources": requests(b",".join(b'"example.com/r%d":"1"' % i for i in range(200))),
    "resource_misspelt": requests(b'"cpus":"1"'),
    "resource_hostile": requests(H + b':"1"'),
    "resource_empty": requests(b'"":"1"'),
    "quantity_negative": requests(b'"cpu":"-1"'),
    "quantity_huge_exponent": requests(b'"cpu":"1e99999999999999999999"'),
    "quantity_tiny_exponent": requests(b'"cpu":"1e-99999999999999999999"'),
    "quantity_10000_digits": requests(b'"cpu":"' + b"9" * 10000 + b'"'),
    "quantity_unknown_suffix": requests(b'"cpu":"1Q"'),
    "quantity_blank": requests(b'"cpu":" 1"'),
    "quantity_of_null": requests(b'"cpu":null'),
    "quantity_a_float": requests(b'"cpu":0.1'),
    "quantity_nan": requests(b'"cpu":"NaN"'),
    "quantity_of_the_largest_number": requests(b'"cpu":9223372036854775807,"memory":"9223372036854775807"'),
    "sum_beyond_64_bits": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[' + b",".join(
        [b'{"name":"c","resources":{"requests":{"memory":"9223372036854775807"}}}'] * 3) + b"]}}",
    "node_of_the_largest_numbers": NODE % b'"cpu":"9223372036854775807","memory":"8Ei","pods":"9223372036854775807"' + pod(),
    "node_of_negative_numbers": NODE % b'"cpu":"-1","memory":"-5Gi","pods":"-3"' + pod(),
    "node_of_no_pods": NODE % b'"cpu":"4","pods":"0"' + pod(),
    "node_taint_of_a_hostile_key": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{"key":' + H
    + b',"effect":"NoSchedule"}]}}' + pod(),
    "node_taint_of_an_unknown_effect": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{"key":"a",'
    b'"effect":"Never"}]}}' + pod(),
    "node_with_10000_labels": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{' + b",".join(
        b'"k%d":"v"' % i for i in range(10000)) + b"}}}" + pod(),
    "node_image_of_negative_size": b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"images":[{"names":["a"],'
    b'"sizeBytes":-5}]}}' + pod(),
    "scheduling_gates_of_numbers": pod(b'"schedulingGates":[7]'),
    "priority_beyond_32_bits": pod(b'"priority":2147483648'),
    "priority_class_absent": pod(b'"priorityClassName":"absent"'),
    "priority_classes_of_the_lowest_value": b'{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"a"},'
    b'"value":-2147483648,"globalDefault":true}' + pod(),
    "creation_time_in_the_year_10000": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","creationTimestamp":'
    b'"10000-01-01T00:00:00Z"},"spec":{}}',
    "creation_time_a_number": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","creationTimestamp":7},"spec":{}}',
    "replicas_negative": b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":-1,"template":'
    b'{"spec":{"containers":[]}}}}',
    "replicas_beyond_32_bits": b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":9999999999,'
    b'"template":{"spec":{"containers":[]}}}}',
    "replicas_of_the_largest_number": b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":'
    b'2147483647,"template":{"spec":{"containers":[]}}}}',
    "template_absent": b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1}}',
    "selector_that_does_not_match": b'{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"d"},"spec":{"replicas":1,'
    b'"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"b"}},"spec":{"containers":[]}}}}',
    "owner_of_a_hostile_kind": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","ownerReferences":[{"kind":' + H
    + b',"name":"a","controller":true}]},"spec":{}}',
    "100000_containers": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[' + b",".join(
        [b'{"name":"c"}'] * 100_000) + b"]}}",
    "10000_tolerations": pod(b'"tolerations":[' + b",".join(b'{"key":"k%d"}' % i for i in range(10000)) + b"]"),
}

CONFIG_HEAD = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def plugin_args(plugin, args):
    return CONFIG_HEAD + b"profiles:\n- pluginConfig:\n  - {name: %s, args: %s}\n" % (plugin, args)


CONFIGS = {
    "empty": b"",
    "head_alone": CONFIG_HEAD,
    "v1beta3": b"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
    "v1beta1": b"apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n",
    "policy": b'{"kind":"Policy","apiVersion":"v1","predicates":[]}',
    "another_kind": b"apiVersion: v1\nkind: ConfigMap\n",
    "config_map_around_it": b"apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: 'kind: KubeSchedulerConfiguration'}\n",
    "two_documents": CONFIG_HEAD + b"---\n" + CONFIG_HEAD,
    "list": b"[]",
    "unknown_field": CONFIG_HEAD + b"unknown: 1\n",
    "hostile_field": CONFIG_HEAD + H + b": 1\n",
    "field_in_lower_case": CONFIG_HEAD + b"podinitialbackoffseconds: 1\n",
    "parallelism_0": CONFIG_HEAD + b"parallelism: 0\n",
    "parallelism_huge": CONFIG_HEAD + b"parallelism: 99999999999\n",
    "percentage_beyond_100": CONFIG_HEAD + b"percentageOfNodesToScore: 101\n",
    "backoff_negative": CONFIG_HEAD + b"podInitialBackoffSeconds: -1\n",
    "duration_of_text": CONFIG_HEAD + b"leaderElection: {leaseDuration: soon}\n",
    "duration_huge": CONFIG_HEAD + b"leaderElection: {leaseDuration: 99999999999999999999h}\n",
    "profiles_null": CONFIG_HEAD + b"profiles: null\n",
    "profiles_empty": CONFIG_HEAD + b"profiles: []\n",
    "profiles_of_null": CONFIG_HEAD + b"profiles: [null, null]\n",
    "profiles_of_one_name": CONFIG_HEAD + b"profiles: [{schedulerName: a}, {schedulerName: a}]\n",
    "profile_of_a_hostile_name": CONFIG_HEAD + b"profiles: [{schedulerName: " + H + b"}]\n",
    "1000_profiles": CONFIG_HEAD + b"profiles:\n" + b"".join(b"- {schedulerName: s%d}\n" % i for i in range(1000)),
    "unknown_plugin": CONFIG_HEAD + b"profiles: [{plugins: {filter: {enabled: [{name: Unknown}]}}}]\n",
    "hostile_plugin": CONFIG_HEAD + b"profiles: [{plugins: {filter: {enabled: [{name: " + H + b"}]}}}]\n",
    "plugin_without_the_point": CONFIG_HEAD + b"profiles: [{plugins: {bind: {enabled: [{name: NodeName}]}}}]\n",
    "plugin_twice": CONFIG_HEAD + b"profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}}}]\n",
    "weight_0": CONFIG_HEAD + b"profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 0}]}}}]\n",
    "weight_negative": CONFIG_HEAD + b"profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: -1}]}}}]\n",
    "weight_huge": CONFIG_HEAD + b"profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 2147483647}]}}}]\n",
    "all_disabled": CONFIG_HEAD + b"profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]\n",
    "no_queue_sort": CONFIG_HEAD + b"profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]\n",
    "no_bind": CONFIG_HEAD + b"profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n",
    "unknown_point": CONFIG_HEAD + b"profiles: [{plugins: {predicates: {}}}]\n",
    "hostile_point": CONFIG_HEAD + b"profiles: [{plugins: {" + H + b": {}}}]\n",
    "args_of_an_unknown_plugin": plugin_args(b"Unknown", b"{a: 1}"),
    "args_of_a_hostile_plugin": plugin_args(H, b"{a: 1}"),
    "args_of_null": plugin_args(b"NodeResourcesFit", b"null"),
    "args_of_another_kind": plugin_args(b"NodeResourcesFit", b"{kind: NodeAffinityArgs}"),
    "strategy_unknown": plugin_args(b"NodeResourcesFit", b"{scoringStrategy: {type: Best}}"),
    "strategy_without_a_shape": plugin_args(b"NodeResourcesFit", b"{scoringStrategy: {type: RequestedToCapacityRatio}}"),
    "shape_that_falls_back": plugin_args(
        b"NodeResourcesFit",
        b"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, score: 1}, "
        b"{utilization: 50, score: 2}]}}}"),
    "shape_beyond_its_range": plugin_args(
        b"NodeResourcesFit",
        b"{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 101, score: 11}]}}}"),
    "resources_of_weight_0": plugin_args(b"NodeResourcesFit", b"{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 0}]}}"),
    "resources_of_a_hostile_name": plugin_args(b"NodeResourcesBalancedAllocation", b"{resources: [{name: " + H + b", weight: 1}]}"),
    "10000_resources": plugin_args(b"NodeResourcesFit", b"{ignoredResources: [" + b", ".join(
        b"example.com/r%d" % i for i in range(10000)) + b"]}"),
    "hard_weight_beyond_100": plugin_args(b"InterPodAffinity", b"{hardPodAffinityWeight: 101}"),
    "default_constraint_of_skew_0": plugin_args(
        b"PodTopologySpread",
        b"{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}"),
    "added_affinity_of_a_bad_key": plugin_args(
        b"NodeAffinity",
        b"{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
        b"[{key: " + H + b", operator: Exists}]}]}}}"),
    "extender": CONFIG_HEAD + b"extenders: [{urlPrefix: 'http://localhost', filterVerb: filter}]\n",
    "extender_of_a_hostile_url": CONFIG_HEAD + b"extenders: [{urlPrefix: " + H + b", filterVerb: filter}]\n",
    "extender_without_a_url": CONFIG_HEAD + b"extenders: [{filterVerb: filter}]\n",
    "extender_of_a_bad_certificate": CONFIG_HEAD + b"extenders: [{urlPrefix: a, filterVerb: f, tlsConfig: {caData: '%%%'}}]\n",
    "deep": CONFIG_HEAD + b"profiles: " + b"[" * 5000,
    "billion_laughs": SYNTAX["yaml_billion_laughs"],
    "binary": bytes(range(256)),
    "utf16": CONFIG_HEAD.decode().encode("utf-16"),
}

ENGINE_HEAD = b"apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\n"
ENGINE_CONFIGS = {
    "empty": b"",
    "another_kind": CONFIG_HEAD,
    "unknown_field": ENGINE_HEAD + b"unknown: 1\n",
    "hostile_field": ENGINE_HEAD + H + b": 1\n",
    "hostile_backend": ENGINE_HEAD + b"backend: " + H + b"\n",
    "threads_negative": ENGINE_HEAD + b"threads: -1\n",
    "threads_huge": ENGINE_HEAD + b"threads: 2147483647\n",
    "seed_negative": ENGINE_HEAD + b"seed: -1\n",
    "seed_beyond_64_bits": ENGINE_HEAD + b"seed: 18446744073709551616\n",
    "seed_of_text": ENGINE_HEAD + b"seed: '7'\n",
    "field_twice": ENGINE_HEAD + b"seed: 1\nseed: 2\n",
    "null_fields": ENGINE_HEAD + b"seed: null\nbackend: null\nthreads: null\n",
    "lists": ENGINE_HEAD + b"seed: []\nbackend: {}\nthreads: [1]\n",
}

SPECS = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "version_2": b"version: 2\n",
    "unknown_field": b"unknown: 1\n",
    "hostile_field": H + b": 1\n",
    "pool_of_a_hostile_name": b"nodePools: [{name: " + H + b", count: 1, allocatable: {cpu: 1}}]\n",
    "pool_without_a_name": b"nodePools: [{count: 1}]\n",
    "pool_of_a_negative_count": b"nodePools: [{name: a, count: -1}]\n",
    "pool_of_a_count_beyond_64_bits": b"nodePools: [{name: a, count: 99999999999999999999}]\n",
    "pool_beyond_the_limit": b"nodePools: [{name: a, count: 10000001}]\n",
    "pools_beyond_the_limit_together": b"nodePools: [{name: a, count: 9999999}, {name: b, count: 9999999}]\n",
    "pods_beyond_the_limit": b"nodePools: [{name: a, count: 1}]\npods: [{name: p, pending: 2147483647}]\n",
    "namespaces_beyond_the_limit": b"namespaces: [{name: a, count: 2147483647}]\n",
    "services_beyond_the_limit": b"services: [{name: a, selector: {a: b}, count: 2147483647}]\n",
    "pods_on_no_pool": b"nodePools: [{name: a, count: 1}]\npods: [{name: p, running: 1, runningOn: [" + H + b"]}]\n",
    "pods_of_no_namespace": b"nodePools: [{name: a, count: 1}]\npods: [{name: p, pending: 1, namespace: absent}]\n",
    "weights_of_0": b"nodePools: [{name: a, count: 1, labels: {a: {choice: [x], weights: [0]}}}]\n",
    "weights_beyond_64_bits": b"nodePools: [{name: a, count: 1, labels: {a: {choice: [x, y], weights: [9223372036854775807, 9223372036854775807]}}}]\n",
    "choice_of_nothing": b"nodePools: [{name: a, count: 1, labels: {a: {choice: []}}}]\n",
    "range_backwards": b"nodePools: [{name: a, count: 1, allocatable: {cpu: {min: 4, max: 1, step: 1}}}]\n",
    "range_of_step_0": b"nodePools: [{name: a, count: 1, allocatable: {cpu: {min: 1, max: 4, step: 0}}}]\n",
    "range_of_huge_numbers": b"nodePools: [{name: a, count: 1, allocatable: {cpu: {min: 0, max: 9223372036854775807, step: 1n}}}]\n",
    "modulo_0": b"nodePools: [{name: a, count: 1, allocatable: {cpu: {start: 1, step: 1, modulo: 0}}}]\n",
    "percent_beyond_100": b"nodePools: [{name: a, count: 1, unschedulablePercent: 101}]\n",
    "quantity_huge": b"nodePools: [{name: a, count: 1, allocatable: {cpu: 1e99999999999999999999}}]\n",
    "random_and_pools": b"random: {}\nnodePools: []\n",
    "random_of_negative_counts": b"random: {nodes: {min: -5, max: -1}}\n",
    "variants_beyond_pods": b"nodePools: [{name: a, count: 1}]\npods: [{name: p, pending: 1, variants: 2}]\n",
    "created_in_the_year_10000": b"nodePools: [{name: a, count: 1}]\npods: [{name: p, pending: 2, created: {at: '9999-12-31T23:59:59Z', everySeconds: 9223372036854775807}}]\n",
    "deep": b"nodePools: " + b"[" * 5000,
    "billion_laughs": SYNTAX["yaml_billion_laughs"],
    "cluster_in_its_place": pod(),
}

NODES_HEAD = b"sn,cpu_milli,memory_mib,gpu,model\n"
TRACES = {
    "empty": b"",
    "head_alone": NODES_HEAD,
    "hostile_column": b'sn,"' + HOSTILE.encode() + b'"\n',
    "column_twice": b"sn,sn\n",
    "missing_columns": b"sn\nn\n",
    "short_row": NODES_HEAD + b"n,1\n",
    "long_row": NODES_HEAD + b"n,1,1,0,,,,,\n",
    "open_quote": NODES_HEAD + b'"n,1,1,0,\n',
    "text_behind_a_quote": NODES_HEAD + b'"n"x,1,1,0,\n',
    "negative_number": NODES_HEAD + b"n,-1,1,0,\n",
    "huge_number": NODES_HEAD + b"n,99999999999999999999,1,0,\n",
    "fraction": NODES_HEAD + b"n,1.5,1,0,\n",
    "hostile_name": NODES_HEAD + b'"' + HOSTILE.encode() + b'",1,1,0,\n',
    "name_twice": NODES_HEAD + b"n,1,1,0,\nn,1,1,0,\n",
    "hostile_model": NODES_HEAD + b'n,1,1,1,"' + HOSTILE.encode() + b'"\n',
    "nul_bytes": NODES_HEAD + b"n\x00,1,1,0,\n",
    "bad_utf8": NODES_HEAD + b"n\xff,1,1,0,\n",
    "line_of_a_megabyte": NODES_HEAD + b"n" * (1 << 20) + b",1,1,0,\n",
    "million_columns": b"," * 1_000_000 + b"\n",
    "carriage_returns": NODES_HEAD.replace(b"\n", b"\r") + b"n,1,1,0,\r",
    "json_in_its_place": pod(),
}
