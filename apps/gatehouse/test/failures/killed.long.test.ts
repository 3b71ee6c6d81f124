import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '@gatehouse/testing'
import { Producer, play } from '../../src/demo/producer.ts'
import { prepareRecipients } from '../../src/demo/recipients.ts'
import { demoConfig, demoScript } from '../../src/demo/script.ts'
import { readDeliveries } from '../../src/demo/settled.ts'
import { started } from '../support/program.ts'

const secret = 'the-secret-of-the-demo-shop'

test('a restart after SIGKILL in the demo delivers every accepted event exactly once', async () => {
  const { events, users, quietUsers } = demoScript()
  const port = await freePort()
  const env = { GATEHOUSE_CONFIG: demoConfig, DEMO_SECRET: secret }
  const first = await started({ port, env })
  const producer = new Producer({ url: first.url, clientId: 'shop', clientSecret: secret })
  await prepareRecipients(producer, users, quietUsers)
  const accepted = new Map<number, string>()
  const queued: string[] = []
  const killed = play(producer, events, 8, (_event, index, { id, deliveries }) => {
    accepted.set(index, id)
    queued.push(
      ...deliveries.flatMap((delivery) => (delivery.outcome === 'queued' && delivery.id ? [delivery.id] : [])),
    )
    if (accepted.size === 400) first.process.kill('SIGKILL')
  })
  await assert.rejects(killed)
  assert.equal((await first.ended).signal, 'SIGKILL')

  const second = await started({ port, dataDir: first.dataDir, env })
  try {
    const ids = [...new Set(accepted.values())]
    const states = await readDeliveries(producer, ids)
    assert.ok(queued.length > 300)
    assert.deepEqual(
      states.filter(({ state }) => state !== 'sent'),
      [],
    )

    const mail = (await (
      await fetch(`${second.url}/dev/mailbox?limit=5000`, { headers: { accept: 'application/json' } })
    ).json()) as {
      messages: ReadonlyArray<{ id: string; delivery_id: string }>
    }
    const delivered = new Set(mail.messages.map(({ delivery_id }) => delivery_id))
    assert.deepEqual(
      queued.filter((id) => !delivered.has(id)),
      [],
      'none is lost',
    )
    assert.equal(new Set(mail.messages.map(({ id }) => id)).size, mail.messages.length, 'none is there twice')

    const again = [...accepted].filter(([index]) => events[index]?.dedup_key).slice(0, 100)
    const replayed = again.flatMap(([index]) => events[index] ?? [])
    await play(producer, replayed, 8, (_event, index, { id }) => {
      assert.equal(id, again[index]?.[1], 'what was accepted before is known again')
    })
  } finally {
    await second.stop()
  }
})
