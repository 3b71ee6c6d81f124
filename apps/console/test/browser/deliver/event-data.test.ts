import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration } from '../../../src/browser/parts/values/duration.ts'
import { findEventsFault, parseEvents, parseObject } from '../../../src/browser/screens/deliver/event-data.ts'
import { csvOf } from '../../../src/browser/screens/deliver/notifications/csv.ts'
import { callOfDraft, emptyDraft, isPast, requestOfDraft } from '../../../src/browser/screens/deliver/send/draft.ts'
import { sampleData } from '../../../src/browser/screens/deliver/send/sample-data.ts'
import { wordOf } from '../../../src/browser/screens/deliver/word-of.ts'

test('data is a JSON object and nothing else', () => {
  assert.deepEqual(parseObject('{"a":1}'), { a: 1 })
  for (const text of ['', '[]', 'null', '1', '"a"', '{']) assert.equal(parseObject(text), undefined, text)
})

test('many events are an array, or one object a line', () => {
  assert.deepEqual(parseEvents('[{"a":1},{"b":2}]'), [{ a: 1 }, { b: 2 }])
  assert.deepEqual(parseEvents('{"a":1}\n\n{"b":2}\n'), [{ a: 1 }, { b: 2 }])
  for (const text of ['', '[]', '[1]', '{"a":1}\nx', 'x']) assert.equal(parseEvents(text), undefined, text)
})

test('sample data has each variable by its path, also where one is the beginning of another', () => {
  assert.deepEqual(sampleData(['order.id', 'name', 'order', 'order.item.title']), {
    name: 'name',
    order: { id: 'id', item: { title: 'title' } },
  })
})

test('a draft is a request when it has an event, a user and data that can be read', () => {
  const draft = { ...emptyDraft, event: ' order.shipped ', user: 'alice' }
  assert.deepEqual(requestOfDraft(draft), { event: 'order.shipped', user_id: 'alice', data: {} })
  assert.equal(requestOfDraft({ ...draft, data: '{' }), undefined)
  assert.equal(requestOfDraft({ ...draft, user: ' ' }), undefined)
  assert.equal(callOfDraft(draft)?.path, '/v1/notify')
  assert.equal(callOfDraft({ ...draft, mode: 'later' }), undefined)
  assert.equal(callOfDraft({ ...draft, mode: 'later', at: '2030-01-01T00:00' })?.path, '/v1/scheduled')
})

test('a time that has passed is not one to send at', () => {
  const draft = { ...emptyDraft, mode: 'later' as const, at: '2030-01-01T00:00' }
  const at = new Date(draft.at).getTime()
  assert.deepEqual([isPast(draft, at - 1), isPast(draft, at)], [false, true])
  assert.equal(isPast({ ...draft, mode: 'now' }, at), false)
})

test('CSV has a row for each delivery, quotes what must be, and no cell is a formula', () => {
  const rows = csvOf([
    {
      id: '1',
      accepted_at: '2026-01-01T00:00:00Z',
      event: 'a,"b"',
      user_id: '=HYPERLINK("x")',
      priority: 'normal',
      deliveries: [
        { channel: 'email', outcome: 'queued', state: 'sent', provider: 'smtp' },
        { channel: 'sms', outcome: 'capped' },
      ],
    },
    { id: '2', accepted_at: 'x', event: 'e', user_id: 'u', priority: 'low', deliveries: [] },
  ])
    .replace('\ufeff', '')
    .trimEnd()
    .split('\r\n')
  assert.deepEqual(rows.slice(1), [
    `1,2026-01-01T00:00:00Z,"a,""b""","'=HYPERLINK(""x"")",normal,email,queued,sent,,smtp`,
    `1,2026-01-01T00:00:00Z,"a,""b""","'=HYPERLINK(""x"")",normal,sms,capped,,,`,
    '2,x,e,u,low,,,,,',
  ])
})

test('a duration is written in its largest unit', () => {
  const written = [0, 340, 1_240, 59_000, 180_000, 86_400_000].map((ms) => formatDuration(ms, 'en'))
  assert.deepEqual(written, ['0 ms', '340 ms', '1.2 sec', '59 sec', '3 min', '1 day'])
})

test('a code that is not known is shown as it is', () => {
  assert.deepEqual(
    [wordOf({ a: 'A' }, 'a'), wordOf({}, 'new_code'), wordOf({}, 'constructor')],
    ['A', 'new code', 'constructor'],
  )
})

test('of many events the first line that is none is named, and the place in it', () => {
  assert.deepEqual(findEventsFault('{"event": "a"}\n\n[]\n{'), { line: 3, column: 1, expected: 'object' })
  assert.deepEqual(findEventsFault('{"event": "a"}\n{"event": b}'), { line: 2, column: 11, expected: 'value' })
  assert.deepEqual(findEventsFault('[{"event": "a"},\nb]'), { line: 2, column: 1, expected: 'object' })
  assert.equal(findEventsFault('[]'), undefined)
})
