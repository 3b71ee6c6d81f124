import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import {
  clientCredentials,
  createGatehouse,
  type Gatehouse,
  isGatehouseError,
  refreshing,
  type WebhookMessage,
} from '@gatehouse/client'
import { temporaryFolder } from '@gatehouse/testing'
import { type Program, started } from '../../apps/gatehouse/test/support/program.ts'
import { type OwnProviderOptions, ownProvider, report } from './own-provider.ts'

const clientSecret = 'the-secret-of-a-shop-with-a-client'
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const pair = (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
  'sign',
  'verify',
])) as CryptoKeyPair
const publicKey = { ...(await crypto.subtle.exportKey('jwk', pair.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
const scopes = '[write:notifications, read:notifications, admin:notifications, read:personal-data, read:events]'
const configuration = (provider: string) => `
clients:
  - { client_id: shop, client_secret: ${clientSecret}, grant_types: [client_credentials], scopes: ${scopes}, plan: unlimited }
  - client_id: signer
    token_endpoint_auth_method: private_key_jwt
    jwks: { keys: [${JSON.stringify(publicKey)}] }
    grant_types: [client_credentials]
    scopes: [admin:notifications]
    plan: unlimited
providers:
  sms: [{ name: own, provider: http, url: '${provider}', secret: ${secret} }]
event_types:
  - { event: order.shipped, channels: [sms] }
  - { event: order.packed, channels: [in-app] }
`

describe('the client against a running program', () => {
  let program: Program
  let gatehouse: Gatehouse
  let options: OwnProviderOptions
  const messages: WebhookMessage[] = []
  const server = ownProvider({ secret, reportUrl: '', send: async (message) => void messages.push(message) })

  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const file = join(temporaryFolder('gatehouse-client'), 'gatehouse.yaml')
    writeFileSync(file, configuration(`http://127.0.0.1:${(server.address() as AddressInfo).port}/messages`))
    program = await started({ env: { GATEHOUSE_CONFIG: file } })
    options = { secret, reportUrl: `${program.url}/v1/webhooks/own`, send: async () => {} }
    const credentials = clientCredentials({ issuer: program.url, clientId: 'shop', clientSecret })
    gatehouse = createGatehouse({ baseUrl: program.url, credentials })
    const recipients = [{ user_id: 'alice', phone_number: '+447700900123' }]
    await gatehouse.recipients.updateMany({ recipients })
    for (const [id, channel] of [
      ['order.shipped', 'sms'],
      ['order.packed', 'in-app'],
    ] as const)
      await gatehouse.templates.update({
        template_id: id,
        channel,
        locale: 'en',
        body: { body: 'Order {{ order_id }}' },
      })
  })
  after(async () => {
    await program?.stop()
    server.closeAllConnections()
    server.close()
  })

  test('a notification reaches the example of a provider, whose report changes its state', async () => {
    const changes = gatehouse.stream('events.read', { channel: 'sms', state: 'delivered' })
    const delivered = changes.next()
    const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, dedup_key: 'A-1' }
    const { id, deliveries } = await gatehouse.notify(event)
    assert.deepEqual(
      deliveries.map(({ channel, outcome }) => [channel, outcome]),
      [['sms', 'queued']],
    )
    assert.deepEqual(await gatehouse.notify(event).then((again) => [again.id, again.deliveries[0]?.outcome]), [
      id,
      'duplicate',
    ])
    while (messages.length === 0) await gatehouse.notifications.get({ id })
    const [message] = messages
    assert.deepEqual([message?.channel, message?.to, message?.body], ['sms', '+447700900123', 'Order A-1'])
    const data = { delivery_id: message?.delivery_id ?? '' }
    await assert.rejects(
      report({ ...options, secret: `whsec_${btoa('a secret of someone else')}` }, { type: 'message.delivered', data }),
    )
    await report(options, { type: 'message.delivered', data })
    const { value } = await delivered
    assert.equal((value?.data as { notification_id?: string } | undefined)?.notification_id, id)
    await changes.return()
    const { deliveries: after } = await gatehouse.notifications.get({ id })
    assert.deepEqual(
      after.map(({ state }) => state),
      ['delivered'],
    )
  })

  test('the example for files sends each event, and names the lines that are refused', async () => {
    const file = join(temporaryFolder('gatehouse-client'), 'events.jsonl')
    const lines = Array.from({ length: 1_200 }, (_, n) => ({
      event: n === 700 ? 'nobody.knows' : 'order.packed',
      user_id: `u${n}`,
      data: {},
    }))
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
    const env = { ...process.env, ISSUER: program.url, CLIENT_ID: 'shop', CLIENT_SECRET: clientSecret }
    const example = join(import.meta.dirname, 'send-events.ts')
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [example, file], { env })
    assert.equal(stdout, '1199 events were accepted\n')
    assert.match(stderr, /^line 701: .*nobody\.knows/)
  })

  test('lists are read page by page, errors have their classes, and a private key signs in', async () => {
    const privateKey = { key: pair.privateKey, keyId: 'k1' }
    const credentials = clientCredentials({ issuer: program.url, clientId: 'signer', privateKey })
    const signer = createGatehouse({ baseUrl: program.url, credentials })
    const names: string[] = []
    for await (const { template_id: name } of signer.templates.list({ limit: 1 })) names.push(String(name))
    assert.ok(names.includes('order.packed') && names.length > 3)
    const refused = await signer.clients.get({ id: 'shop' }).catch((error) => error)
    assert.ok(isGatehouseError(refused, 'permission_denied'))
    assert.match(refused.scope ?? '', /read:clients/)
    assert.match(refused.requestId ?? '', /\S/)
    const unknown = await gatehouse.notify({ event: 'nobody.knows', user_id: 'b', data: {} }).catch((error) => error)
    assert.ok(isGatehouseError(unknown, 'validation_failed') && unknown.status === 422)
    const wrong = refreshing(
      { load: () => ({ accessToken: 'a', refreshToken: 'b', expiresAt: 0 }), save() {} },
      { issuer: program.url, clientId: 'shop', clientSecret },
    )
    const stranger = createGatehouse({ baseUrl: program.url, credentials: wrong })
    await assert.rejects(stranger.notifications.get({ id: 'x' }), { code: 'oauth_failed' })
  })
})

test('the example for files sends its own events to a program as it is first run', async (t) => {
  const root = join(import.meta.dirname, '../..')
  const file = join(temporaryFolder('gatehouse-client'), 'gatehouse.yaml')
  const text = readFileSync(join(root, 'gatehouse.yaml'), 'utf8')
    .replace('- client_id: demo\n', `- client_id: demo\n    client_secret: ${clientSecret}\n`)
    .replace('templates: ./templates', `templates: ${join(root, 'templates')}`)
  writeFileSync(file, text)
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  t.after(() => program.stop())
  const env = { ...process.env, ISSUER: program.url, CLIENT_SECRET: clientSecret }
  const example = join(import.meta.dirname, 'send-events.ts')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [example], { env, cwd: root })
  assert.equal(stderr, '')
  assert.match(stdout, /^[1-9]\d* events were accepted\n$/)
})
