import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hourlyEvents, maxEvents, parseEvents } from '../../src/browser/screens/content/simulation/pasted.ts'

describe('events that an event type is simulated with', () => {
  test('are times, or JSON as producers send it', () => {
    const text = [
      '2026-03-29T00:30:00Z',
      '',
      '1774744200',
      '{"at": "2026-03-29T02:30:00+02:00", "event": "photo.liked", "user_id": "alice", "data": {"actor": "Ann"}}',
      '{"time": 1774744200000, "user_id": null}',
    ].join('\r\n')
    const at = '2026-03-29T00:30:00.000Z'
    assert.deepEqual(parseEvents(text), {
      events: [{ at }, { at }, { at, user_id: 'alice', data: { actor: 'Ann' } }, { at }],
      faults: [],
    })
  })

  test('are named by line where they cannot be read; the others are taken', () => {
    const lines = ['soon', '{"at": 1', '{"user_id": "alice"}', '{"at": 1, "user_id": 5}', '{"at": 1, "data": [1]}', '1']
    const { events, faults } = parseEvents(lines.join('\n'))
    assert.deepEqual([events.length, faults], [1, [1, 2, 3, 4, 5]])
  })

  test('are as many, and lie as close together, as the API takes', () => {
    const times = (count: number, seconds: number) =>
      Array.from({ length: count }, (_, nth) => String(1_774_744_200 + nth * seconds)).join('\n')
    assert.equal(parseEvents(times(maxEvents, 1)).exceeded, undefined)
    assert.equal(parseEvents(times(maxEvents + 1, 1)).exceeded, 'events')
    assert.equal(parseEvents(times(2, 31 * 86_400)).exceeded, undefined)
    assert.equal(parseEvents(times(2, 31 * 86_400 + 1)).exceeded, 'span')
  })

  test('may be one each hour of a day', () => {
    const { events, faults } = parseEvents(hourlyEvents('2026-03-29'))
    assert.deepEqual([events.length, faults, events.at(-1)], [24, [], { at: '2026-03-29T23:00:00.000Z' }])
  })
})
