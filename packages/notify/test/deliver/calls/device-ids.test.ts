import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp } from '@gatehouse/fakes'
import { buildProvider } from '../../support/providers/providers.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`

test('a device whose id no header field can carry gets its pushes, each with an id of its own', async (t) => {
  const fake = await startHttp({ secret })
  const provider = buildProvider({ provider: 'http', url: fake.url, secret }, { channel: 'push' })
  const s = await setup({ providers: { push: [provider] } })
  t.after(async () => {
    await s.close()
    await fake.stop()
  })
  await seedEventType(s)
  const devices = ['phone', 'Anna’s iPhone', 'Anna’s iPad']
  for (const device of devices)
    await s.call('PUT', `/v1/users/alice/devices/${encodeURIComponent(device)}`, { token: `token of ${device}` })
  const event = { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['push'] }
  const { id } = (await s.call('POST', '/v1/notify', event)).body
  const { body } = await eventually(
    () => s.call('GET', `/v1/notifications/${id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
  const { id: deliveryId } = body.deliveries[0]
  const ids = new Map(fake.requests.map((request) => [request.device_id, request.webhookId]))
  assert.deepEqual([...ids.keys()].sort(), devices.toSorted())
  assert.equal(ids.get('phone'), `${deliveryId}.phone`)
  assert.equal(new Set(ids.values()).size, 3)
})
