import assert from 'node:assert/strict'
import { createECDH } from 'node:crypto'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setDefaultCACertificates } from 'node:tls'
import { selfSigned } from '@gatehouse/fakes'
import webPush from 'web-push'
import { createHttpClient } from '../../src/transport/http.ts'
import { build, message, sendOne } from '../support/setup.ts'

/** A server of HTTP/2 and HTTP/1.1 over TLS, and the versions of the requests it was sent. */
async function startServer(t: TestContext) {
  const { pem, key } = selfSigned('localhost')
  setDefaultCACertificates([pem])
  const versions: string[] = []
  const options = { cert: pem, key: key.export({ type: 'pkcs8', format: 'pem' }), allowHTTP1: true }
  const server = createSecureServer(options, (request, response) => {
    versions.push(request.httpVersion)
    response.writeHead(201)
    response.end()
  }).listen(0, 'localhost')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, versions }
}

test('a server that also offers HTTP/2 is called over HTTP/1.1', async (t) => {
  const { url, versions } = await startServer(t)
  const client = createHttpClient(new URL(url), { timeoutMs: 10_000 })
  t.after(() => client.close())
  assert.equal((await client.request({ method: 'GET', path: '/' }, new AbortController().signal)).status, 201)
  assert.deepEqual(versions, ['1.1'])
})

test('a push service that also offers HTTP/2 is called over HTTP/1.1', async (t) => {
  const { url, versions } = await startServer(t)
  const { publicKey: public_key, privateKey: private_key } = webPush.generateVAPIDKeys()
  const entry = { provider: 'web-push', public_key, private_key, subject: 'mailto:ops@example.com' }
  const provider = build({ ...entry, hosts: ['localhost'], allow_private: true })
  t.after(() => provider.close?.())
  const keys = { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'A'.repeat(22) }
  const target = { id: 'browser', address: JSON.stringify({ endpoint: `${url}/push/a`, keys }), service: 'web' }
  assert.equal((await sendOne(provider, message({ channel: 'push', target }))).kind, 'accepted')
  assert.deepEqual(versions, ['1.1'])
})
