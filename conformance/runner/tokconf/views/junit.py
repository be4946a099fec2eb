"""JUnit's XML: a suite for each adapter, a test for each case."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from ..results import RED, Report

_NOT_XML = {n: "\N{REPLACEMENT CHARACTER}" for n in range(32) if n not in (9, 10, 13)}
_NOT_XML |= {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}


def document(report: Report) -> str:
    root = ElementTree.Element("testsuites")
    for adapter in report.matrix():
        results = report.of(adapter)
        suite = ElementTree.SubElement(root, "testsuite", name=adapter, tests=str(len(results)))
        failures = skipped = 0
        for result in results:
            area, rest = result["id"].split("/", 1)
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"{adapter}.{area}",
                name=rest,
                time=f"{result.get('ms', 0) / 1000:.6f}",
            )
            said = str(result.get("reason", "")).translate(_NOT_XML)
            if result["outcome"] in RED and result["level"] != "may":
                failures += 1
                failure = ElementTree.SubElement(case, "failure", message=said[:500])
                shown = {key: result.get(key) for key in ("sent", "expected", "got")}
                failure.text = json.dumps(shown, ensure_ascii=True)
            elif result["outcome"] != "pass":
                skipped += 1
                ElementTree.SubElement(case, "skipped", message=said[:500])
        suite.set("failures", str(failures))
        suite.set("skipped", str(skipped))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
