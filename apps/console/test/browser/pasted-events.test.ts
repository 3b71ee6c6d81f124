import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { breakdownOf } from '../../src/browser/screens/limits/simulation/breakdown.ts'
import { maxEvents, parseEvents } from '../../src/browser/screens/limits/simulation/events.ts'
import { maxArrivals } from '../../src/browser/screens/limits/simulation/traffic.ts'

const begin = Date.UTC(2026, 0, 1)
const at = (seconds: number) => begin + seconds * 1_000

describe('pasted events', () => {
  test('are a time and a caller, in Unix seconds, milliseconds or ISO 8601', () => {
    const text = '1767225660\n1767225601500, bob\n\n2026-01-01T00:00:00Z alice\r\n2026-01-01 00:00:02Z;carol'
    assert.deepEqual(parseEvents(text), {
      arrivals: [
        { at: at(0), caller: 'alice' },
        { at: at(1.5), caller: 'bob' },
        { at: at(2), caller: 'carol' },
        { at: at(60), caller: 'caller 1' },
      ],
      events: 4,
      faults: [],
    })
  })

  test('are JSON lines, as logs have them', () => {
    const lines = [
      { time: '2026-01-01T00:00:01Z', user: 'alice', method: 'GET', path: '/orders?page=2', status: 200 },
      { '@timestamp': begin, Client_Id: 'importer', route: '/orders', count: 2 },
      { timestamp: begin / 1_000 + 2, api_key: 'k1', user_id: 'alice' },
      { at: at(3), ip: '192.0.2.1', user: null },
    ]
    const { arrivals, events, faults } = parseEvents(lines.map((line) => JSON.stringify(line)).join('\n'))
    assert.deepEqual(faults, [])
    assert.equal(events, 4)
    assert.deepEqual(arrivals, [
      { at: at(0), caller: 'client importer', route: '/orders' },
      { at: at(0), caller: 'client importer', route: '/orders' },
      { at: at(1), caller: 'user alice', route: 'GET /orders' },
      { at: at(2), caller: 'key k1' },
      { at: at(3), caller: 'ip 192.0.2.1' },
    ])
  })

  for (const [name, separator] of [
    ['commas', ','],
    ['semicolons', ';'],
    ['tabs', '\t'],
  ] as const)
    test(`are CSV with ${name}, whose first line names the columns`, () => {
      const rows = [
        ['Count', 'Caller', 'Time', 'Route', 'Other'],
        ['2', '"Smith, ""Bob"" "', '2026-01-01T00:00:00Z', '/a', 'x'],
        ['', '', '2026-01-01T00:00:01Z', '', ''],
      ]
      const { arrivals, faults } = parseEvents(rows.map((row) => row.join(separator)).join('\n'))
      assert.deepEqual(faults, [])
      assert.deepEqual(arrivals, [
        { at: at(0), caller: 'Smith, "Bob"', route: '/a' },
        { at: at(0), caller: 'Smith, "Bob"', route: '/a' },
        { at: at(1), caller: 'caller 1' },
      ])
    })

  test('that cannot be read are named by line, with what stands there; the others count', () => {
    const text = [
      'nonsense alice',
      '{"time": 1, "user": ',
      '{"user": "alice"}',
      '{"time": 1, "user": {"id": 1}}',
      '{"time": 1, "path": 5}',
      '99999999999999999 alice',
      '1767225600 alice',
      'time,count,user',
      '1767225600,0,alice',
      '1767225600,1000000000,alice',
      '1767225600,1,"alice',
    ].join('\n')
    const { events, faults } = parseEvents(text)
    assert.equal(events, 1)
    assert.deepEqual(
      faults.map(({ line, code, found }) => [line, code, found]),
      [
        [1, 'time', 'nonsense'],
        [2, 'json', '{"time": 1, "user": '],
        [3, 'time', ''],
        [4, 'caller', '{"id":1}'],
        [5, 'route', '5'],
        [6, 'time', '99999999999999999'],
        [9, 'count', '0'],
        [10, 'count', '1000000000'],
        [11, 'quote', '1767225600,1,"alice'],
      ],
    )
  })

  test('are limited in lines and characters, and nothing of a longer text is read', () => {
    const line = '1767225600\n'
    assert.equal(parseEvents(line.repeat(maxEvents.lines)).events, maxEvents.lines)
    const more = parseEvents(line.repeat(maxEvents.lines + 1))
    assert.deepEqual([more.exceeded, more.events, more.arrivals.length], ['lines', 0, 0])
    assert.equal(parseEvents(`1767225600 ${'x'.repeat(maxEvents.characters)}`).exceeded, 'characters')
  })

  test('of one long line that ends in a line separator of Unicode are read without a wait', { timeout: 60_000 }, () => {
    const caller = `bob${' '.repeat(250_000)}\u2028x`
    const read = () => parseEvents(`1767225660 ${' '.repeat(250_000)}${caller}`).arrivals.map((one) => one.caller)
    assert.deepEqual([...runInNewContext('read()', { read }, { timeout: 20_000 })], [caller])
  })

  test('with counts are never more requests than a page can simulate, the earliest of them', () => {
    const { arrivals } = parseEvents(`${'{"time": 9, "count": 100000}\n'.repeat(3)}{"time": 1, "user": "alice"}`)
    assert.equal(arrivals.length, maxArrivals)
    assert.equal(arrivals[0]?.caller, 'user alice')
  })

  test('of any text are read or named, and come in the order of time', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constant('time,user,count'),
      fc.json(),
      fc.tuple(fc.integer(), fc.string()).map(([time, caller]) => `${time} ${caller}`),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const { arrivals, events, faults } = parseEvents(lines.join('\n'))
        assert.ok(arrivals.every((one, nth) => one.at >= (arrivals[nth - 1]?.at ?? 0)))
        assert.ok(events + faults.length <= lines.join('\n').split(/\r\n|\n|\r/).length)
        assert.ok(arrivals.length >= events)
      }),
    )
  })
})

test('a breakdown counts by caller or route, those first of whom more was rejected', () => {
  const arrivals = [
    { at: 1, caller: 'alice', route: '/a' },
    { at: 2, caller: 'bob', route: '/a' },
    { at: 3, caller: 'bob', route: '/b' },
    { at: 4, caller: 'carol' },
  ]
  const [one, other] = [Uint8Array.of(1, 1, 1, 1), Uint8Array.of(1, 1, 0, 1)]
  assert.deepEqual(breakdownOf(arrivals, [one, other], 'caller'), [
    { name: 'bob', requests: 2, rejected: [0, 1] },
    { name: 'alice', requests: 1, rejected: [0, 0] },
    { name: 'carol', requests: 1, rejected: [0, 0] },
  ])
  assert.deepEqual(breakdownOf(arrivals, [one, other], 'route'), [
    { name: '/b', requests: 1, rejected: [0, 1] },
    { name: '/a', requests: 2, rejected: [0, 0] },
  ])
})
