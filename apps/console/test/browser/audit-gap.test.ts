import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gapBefore } from '../../src/browser/screens/operate/audit-gap.ts'

const removedBefore = '2026-03-01T00:00:00.000Z'

test('a gap of the audit log is drawn behind the last event, where the filters reach it', () => {
  const cases = [
    [{ removedBefore, hasNext: false, since: undefined }, removedBefore],
    [{ removedBefore, hasNext: false, since: '2026-02-01T00:00:00.000Z' }, removedBefore],
    [{ removedBefore, hasNext: false, since: '2026-03-01T01:00:00+01:00' }, undefined],
    [{ removedBefore, hasNext: true, since: undefined }, undefined],
    [{ removedBefore: undefined, hasNext: false, since: undefined }, undefined],
  ] as const
  for (const [end, expected] of cases) assert.equal(gapBefore(end), expected, JSON.stringify(end))
})
