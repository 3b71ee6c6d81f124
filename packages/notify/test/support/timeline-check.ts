import assert from 'node:assert/strict'
import { Check } from 'typebox/value'
import { TimelineEntry } from '../../src/api/schemas/timeline.ts'

/** Fails for an entry of a timeline in the response that the API document does not describe. */
export function checkTimeline(body: unknown): void {
  const { timeline } = (body ?? {}) as { timeline?: unknown }
  if (!Array.isArray(timeline)) return
  for (const entry of timeline)
    assert.ok(Check(TimelineEntry, entry), `not in the API document: ${JSON.stringify(entry)}`)
}
