import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { actions, slowAnswerMs } from '../../src/actions/index.ts'
import type { ConsoleContext } from '../../src/server/context.ts'
import { findForwarded } from '../../src/server/proxy/allow-list.ts'
import { answerFrom } from '../../src/server/proxy/forward.ts'
import { openServices } from '../../src/server/proxy/services.ts'
import type { Session } from '../../src/server/session/session.ts'
import { ownPage, Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

test('nothing is called for a browser that left while its session was read', async () => {
  const raw = new ServerResponse(new IncomingMessage(new Socket()))
  raw.destroy()
  await once(raw, 'close')
  const counts = { open: 0, calls: 0 }
  const count = async () => {
    counts.calls++
  }
  const context = {
    openAnswers: {
      add: () => {
        counts.open++
        return () => counts.open--
      },
    },
    tokens: { current: count, renewed: count },
    connections: { call: count },
  } as unknown as ConsoleContext
  const request = { id: '1', ip: '127.0.0.1', headers: {} } as unknown as FastifyRequest
  const call = { method: 'POST', path: '/v1/events', body: Buffer.alloc(8) }
  let isHijacked = false
  const reply = {
    raw,
    hijack() {
      isHijacked = true
      return reply
    },
  } as unknown as FastifyReply
  const session = { idHash: 'hash', userId: 'olga' } as Session
  assert.equal(await answerFrom(context, session, 'notify', { request, reply, call }), reply)
  assert.deepEqual([counts, isHijacked], [{ open: 0, calls: 0 }, true])
})

test('many events are waited for longer than other answers, but not for ever', async (t) => {
  const slow = Object.values(actions).filter(({ operation }) => slowAnswerMs(operation) !== undefined)
  assert.deepEqual(
    slow.map(({ operation }) => operation),
    ['notifications.sendBulk'],
  )
  assert.equal(findForwarded('POST', '/v1/notify/bulk')?.slowMs, slowAnswerMs('notifications.sendBulk'))
  assert.equal(findForwarded('POST', '/v1/notify')?.slowMs, undefined)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const services = openServices({ identity: 'http://127.0.0.1:1', notify: `http://127.0.0.1:${port}` })
  t.after(async () => {
    await services.close()
    silent.close()
  })
  const call = { method: 'POST', path: '/', slowMs: 50, holder: 'olga', signal: new AbortController().signal }
  await assert.rejects(services.call('notify', call), { code: 'UND_ERR_HEADERS_TIMEOUT' })
})

describe('a request whose body is still on its way', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform()
  })
  after(() => platform.stop())

  /** Sends the headers and ten bytes of a thousand. */
  const begin = (path: string, cookie = '') => {
    const { host, hostname, port } = new URL(platform.url)
    const headers = { ...ownPage, host, cookie, 'content-type': 'application/json', 'content-length': '1000' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(Number(port), hostname)
    socket.write(`POST /console/api${path} HTTP/1.1\r\n${lines.join('')}\r\n{"kind":"a`)
    return socket
  }

  for (const path of ['/admin/v1/users', '/preview', '/views'])
    test(`is refused without a session before the rest is sent: POST ${path}`, async (t) => {
      const socket = begin(path)
      t.after(() => socket.destroy())
      const [first] = await once(socket, 'data')
      assert.match(String(first), /^HTTP\/1\.1 401 [\s\S]*urn:gatehouse:console:signed-out/)
    })

  test('of a sign-out is short', async () => {
    const headers = { ...ownPage, 'content-type': 'application/json' }
    const signOut = (body: string) => fetch(`${platform.url}/console/api/sign-out`, { method: 'POST', headers, body })
    assert.deepEqual([(await signOut('x'.repeat(2_000))).status, (await signOut('{}')).status], [413, 200])
  })

  test('is read with a session, and at a sign-out', async () => {
    const person = new Person(platform.url)
    await person.signIn('olga', passwordOf('olga'))
    const cookie = `gatehouse-console=${person.cookies.get('gatehouse-console')}`
    for (const [path, cookies, status] of [
      ['/views', cookie, '400'],
      ['/sign-out', '', '200'],
    ] as const) {
      const socket = begin(path, cookies)
      socket.end('x'.repeat(990))
      assert.match(await text(socket), new RegExp(`^HTTP/1\\.1 ${status} `), path)
    }
  })
})
