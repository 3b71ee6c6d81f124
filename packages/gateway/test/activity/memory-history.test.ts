import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryHistory } from '../../src/activity/memory-history.ts'
import { historyCases, noon } from './history-suite.ts'

for (const [title, run] of historyCases) test(`in memory ${title}`, () => run(new MemoryHistory()))

test('memory forgets minutes after an hour and hours after a day', async () => {
  const history = new MemoryHistory()
  const hourMs = 3_600_000
  const sketch = { entries: [{ key: 'free\n/a\nuser\nu1', count: 1, at: noon }], missed: 0 }
  const period = { allowed: sketch, rejected: sketch, labels: [], rejections: [] }
  const find = (stepMs: number) => history.callers('allowed', { stepMs, from: noon, to: noon })
  await history.add({ at: noon, ...period })
  await history.add({ at: noon + 2 * hourMs, ...period })
  assert.deepEqual([(await find(60_000)).length, (await find(hourMs)).length], [0, 1])
  await history.add({ at: noon + 26 * hourMs, ...period })
  assert.deepEqual((await find(hourMs)).length, 0)
})
