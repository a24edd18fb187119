"""Deals a stored slice 1 of 1, which is a whole run, out into many slices."""
import copy
import hashlib
import json
import pathlib

STEP = 1_000_000  # of an axis whose values are copied: copies of a configuration never meet


def compact(value):
    """As the subcommand writes JSON, on which the hash of a plan depends."""
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


class Stored:
    """A whole run: its manifest, and the lines of each configuration in its journal."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.manifest = json.loads((folder / 'manifest.json').read_text())
        self.head, self.lines = None, {}
        for text in (folder / 'journal.jsonl').open():
            line = json.loads(text)
            if line['line'] == 'made':
                self.head = text
            elif line['line'] in ('pass', 'row'):
                line.pop('by')
                self.lines.setdefault((line['series'], line['configuration']), []).append(line)
        self.all = [(series, at) for series, own in enumerate(self.manifest['own'])
                    for at in range(len(own['configurations']))]

    def copied(self, key, copy_number, axis):
        """The configuration of `key`, and its lines, with another value of `axis`."""
        series, at = key
        found = copy.deepcopy(self.manifest['own'][series]['configurations'][at])
        lines = copy.deepcopy(self.lines[key])
        if copy_number:
            for pair in found:
                if pair[0] == axis:
                    pair[1] = type(pair[1])(int(pair[1]) + STEP * copy_number)
            for line in lines:
                if line['line'] == 'row':
                    line['row']['configurations'][0]['configuration'] = found
        return found, lines

    def plan(self, slices, copies):
        """The whole plan in `slices`, each configuration `copies` times, and its hash."""
        plan = copy.deepcopy(self.manifest['plan'])
        plan['slices'], plan['unit'] = slices, 'configuration'
        for series in plan['series']:
            series['configurations'] *= copies
            series['slices'] = f'1-{slices}' if slices > 1 else '1'
        return plan, hashlib.sha256(compact(plan).encode()).hexdigest()

    def slice(self, plan, number, part, axis):
        """The manifest of slice `number`, and the lines of each of its configurations.

        `part` has pairs of a key and the number of its copy, in the order of the plan.
        """
        plan, plan_hash = plan
        manifest = {**copy.deepcopy(self.manifest), 'plan': plan, 'plan_hash': plan_hash,
                    'slice': number, 'run': f'{self.manifest["run"]}-{number}'}
        record = manifest['provenance']['slices'][0]
        record.update(slice=number, of=plan['slices'], run=manifest['run'])
        own, each = {}, []
        for (series, at), copy_number in part:
            if series not in own:
                own[series] = {**manifest['own'][series], 'positions': [], 'configurations': []}
            found, lines = self.copied((series, at), copy_number, axis)
            before = len(self.manifest['own'][series]['configurations'])
            here = list(own).index(series), len(own[series]['positions'])
            own[series]['positions'].append(copy_number * before + at)
            own[series]['configurations'].append(found)
            each.append([{**line, 'series': here[0], 'configuration': here[1]} for line in lines])
        manifest['own'] = list(own.values())
        return manifest, each


def write(folder, manifest, journal):
    """Writes a slice below `folder`."""
    plan = manifest['plan']
    name = f'slice-{manifest["slice"]}-of-{plan["slices"]}'
    folder = pathlib.Path(folder) / manifest['plan_hash'][:12] / name
    folder.mkdir(parents=True)
    (folder / 'manifest.json').write_text(compact(manifest))
    (folder / 'journal.jsonl').write_bytes(journal)
