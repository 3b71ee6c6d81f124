import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { silentLog } from '@gatehouse/kit'
import { identityMail } from '../../../src/compose/identity/mail.ts'
import type { Parts } from '../../../src/compose/parts.ts'

/** Longer than a call may take, far shorter than what this server takes. */
const withinMs = 20_000

test('a notification service whose answer does not end is not waited for', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(202, { 'content-type': 'application/json' })
    const dripping = setInterval(() => response.write(' '), 100)
    response.once('close', () => clearInterval(dripping))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const resources: Array<() => unknown> = []
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    for (const close of resources) await close()
  })
  const { port } = server.address() as AddressInfo
  const outward = identityMail(
    {
      config: { settings: { notifyUrl: `http://127.0.0.1:${port}` }, file: {} },
      token: { current: async () => 'a-token', discard() {} },
      log: silentLog,
      resources,
    } as unknown as Parts,
    undefined,
  )
  const begun = performance.now()
  assert.ok(outward?.onRecipient)
  await outward.onRecipient({ user_id: 'alice', email: 'alice@example.com' })
  assert.ok(performance.now() - begun < withinMs)
})
