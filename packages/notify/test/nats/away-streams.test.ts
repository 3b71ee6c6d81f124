import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '@gatehouse/kit'
import { AwayStreams } from '../../src/nats/away-streams.ts'
import { layoutOf, waitingSubjectOf } from '../../src/nats/layout.ts'
import type { Resources } from '../../src/nats/resources.ts'

test('an answer to a reader that was left does not count for the one after it', async () => {
  const layout = layoutOf({ count: 4, streams: 2 })
  const [{ name } = assert.fail('no stream')] = layout.partitionStreams
  const answers: Array<(waiting: number) => void> = []
  const countMessages = () =>
    new Promise((resolve) => answers.push((waiting) => resolve({ [waitingSubjectOf(name)]: waiting })))
  const away = new AwayStreams({ resources: { countMessages } as unknown as Resources, layout, log: silentLog })
  const [former, current] = [away.read(), away.read()]
  answers[1]?.(1)
  await current
  answers[0]?.(0)
  await former
  assert.ok(away.has(name))
})
