import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { type Supervised, startSupervised, until, workersOf } from '../support/processes.ts'
import { launch } from '../support/program.ts'

const secret = 'a-secret-of-the-test-alone-0123456789'
const configuration = (upstream: string) => `
channels: { email: off, sms: off, push: off }
clients:
  - client_id: shop
    client_secret: ${secret}
    grant_types: [client_credentials]
    scopes: [write:notifications, read:notifications, admin:notifications, read:personal-data, read:metrics]
    plan: roomy
tiers:
  free: { rpm: 10 }
  roomy: { rpm: 1000000 }
policies: { anonymous: { rpm: 100000 }, identity: { rpm: 100000 }, few: { daily: 30, failure_mode: closed } }
event_types:
  - { event: parcel.moved, channels: [in-app] }
recipients: [{ user_id: alice, locale: en }]
upstreams: { chat: { url: "${upstream}" } }
routes:
  - { path: /few, upstream: chat, public: true, policy: few }
  - { path: /chat, upstream: chat, public: true }
`

/** An upstream that answers requests, and accepts WebSockets and sends one text on each. */
async function startChat(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => response.end('ok'))
  server.on('upgrade', ({ headers }, socket) => {
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.on('error', () => {})
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.write(Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('hello')]))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The status of a response on a connection of its own. */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    }).on('error', reject)
  })
}

async function token({ url }: Supervised): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'shop', client_secret: secret })
  const answer = await fetch(`${url}/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** Opens a stream of alice's inbox; resolves once it has `text`. */
async function streamed({ url }: Supervised, authorization: string, ready: () => void, text: string): Promise<void> {
  const answer = await fetch(`${url}/v1/users/alice/inbox/stream`, { headers: { authorization } })
  assert.equal(answer.status, 200)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body')
  for (let received = ''; !received.includes(text); ) {
    const { done, value = '' } = await reader.read()
    assert.ok(!done, `the stream ended with ${received}`)
    received += value
    // It says where it begins: what is written from now on is in it.
    if (/^id:/m.test(received)) ready()
  }
  await reader.cancel()
}

/**
 * Reads alice's stream as a browser does: when it ends, again after the last event. Counts how often each place was received.
 * `stop` ends it and resolves with how often the stream ended before.
 */
function readThroughEnds({ url }: Supervised, authorization: string, received: Map<string, number>) {
  const stop = new AbortController()
  const begun = Promise.withResolvers<void>()
  let ends = 0
  let lastId: string | undefined
  const readOnce = async () => {
    const headers = { authorization, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) }
    const answer = await fetch(`${url}/v1/users/alice/inbox/stream`, { headers, signal: stop.signal })
    assert.equal(answer.status, 200)
    let rest = ''
    for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? assert.fail('no body')) {
      const events = (rest + text).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        lastId = /^id: ?(.+)$/m.exec(event)?.[1] ?? lastId
        if (lastId !== undefined) begun.resolve()
        for (const [place] of event.matchAll(/stop \d+\./g)) received.set(place, (received.get(place) ?? 0) + 1)
      }
    }
  }
  const reading = (async () => {
    while (!stop.signal.aborted) {
      await readOnce().catch(() => {})
      if (!stop.signal.aborted) ends++
    }
  })()
  return {
    /** Resolves once the stream has said where it begins: what is written from then on is in it. */
    begun: begun.promise,
    async stop() {
      stop.abort()
      await reading
      return ends
    },
  }
}

testWith('postgresql', 'workers that share the port serve as one program', async (t) => {
  const chat = await startChat(t)
  const program = await startSupervised(t, {
    processes: 3,
    configuration: configuration(chat),
    metrics: false,
  })
  assert.equal(workersOf(program).length, 3)
  assert.match(program.stdout(), /^ {2}Processes +3 workers share the port$/m)
  assert.match(program.stdout(), /^ {2}Counters +Redis/m)
  assert.equal(program.stdout().split('is ready after').length - 1, 1, 'the banner is printed once')
  const authorization = `Bearer ${await token(program)}`

  await t.test('an exact limit holds over all workers', async () => {
    const statuses = await Promise.all(Array.from({ length: 60 }, () => statusOf(`${program.url}/few`)))
    assert.equal(statuses.filter((status) => status === 200).length, 30)
    assert.equal(statuses.filter((status) => status === 429).length, 30)
  })

  await t.test('readiness and public metrics are those of all workers', async () => {
    const readiness = await (await fetch(`${program.url}/readyz`)).json()
    assert.deepEqual(readiness, { status: 'ready', engines: { database: 'ok', counters: 'ok', workers: 'ok' } })
    let text = ''
    await until('all workers respond to one scrape', 60_000, async () => {
      text = await (await fetch(`${program.url}/metrics`, { headers: { authorization } })).text()
      return !/^gatehouse_worker_up\{worker="\d+"\} 0$/m.test(text)
    })
    for (const worker of ['1', '2', '3', 'supervisor'])
      assert.match(text, new RegExp(`^process_resident_memory_bytes\\{worker="${worker}"\\} \\d`, 'm'))
    assert.match(text, /^identity_tokens_issued_total\{grant_type="client_credentials"\} 1$/m)
    assert.match(text, /^rate_limit_gateways 3$/m)
    const refused = await fetch(`${program.url}/metrics`)
    assert.equal(refused.status, 401)
  })

  await t.test('what all workers know alike is reported once', async () => {
    await until('each worker knows the others', 60_000, async () => {
      const text = await (await fetch(`${program.url}/metrics`, { headers: { authorization } })).text()
      const [, processes = '0'] = /^notify_worker_processes (\d+)$/m.exec(text) ?? []
      assert.ok(Number(processes) <= 3, `${processes} processes`)
      return Number(processes) === 3
    })
  })

  await t.test('streams of one inbox on different workers all receive an item', async () => {
    const template = await fetch(`${program.url}/v1/templates/parcel.moved/in-app/en`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ subject: 'Parcel', body: 'It moved to {{ place }}.' }),
    })
    assert.equal(template.status, 200)
    const ready = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
    const streams = ready.map(({ resolve }) => streamed(program, authorization, resolve, 'It moved to Ulm.'))
    await Promise.all(ready.map(({ promise }) => promise))
    const sent = await fetch(`${program.url}/v1/notify`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ event: 'parcel.moved', user_id: 'alice', data: { place: 'Ulm' } }),
    })
    assert.equal(sent.status, 202)
    await Promise.all(streams)
  })

  await t.test('WebSockets pass through each worker', async () => {
    const messages = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = new WebSocket(`${program.url.replace('http', 'ws')}/chat`)
        const [{ data }] = (await once(socket, 'message')) as [MessageEvent]
        socket.close()
        return data
      }),
    )
    assert.deepEqual(
      messages,
      Array.from({ length: 6 }, () => 'hello'),
    )
  })
  await t.test('a reader of a stream has every item once, through the replacement of all workers', async () => {
    const before = workersOf(program)
    const received = new Map<string, number>()
    const reader = readThroughEnds(program, authorization, received)
    const sendItem = (n: number) =>
      fetch(`${program.url}/v1/notify`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ event: 'parcel.moved', user_id: 'alice', data: { place: `stop ${n}.` } }),
      })
    const maxSent = 7
    let sent = 0
    const send = async () => assert.equal((await sendItem(sent++)).status, 202)
    await reader.begun
    await send()
    await until('the reader has an item', 30_000, () => received.size > 0)
    program.process.kill('SIGHUP')
    // Alice gets ten a day: one for each change of the workers.
    let known = `${before}`
    await until('all workers are others', 90_000, async () => {
      const now = workersOf(program)
      if (`${now}` !== known && sent < maxSent) await send()
      known = `${now}`
      return now.length === 3 && !now.some((pid) => before.includes(pid))
    })
    await send()
    await until('the reader has all items', 30_000, () => received.size >= sent)
    const ends = await reader.stop()
    assert.ok(ends > 0, 'the stream ended with its worker')
    assert.deepEqual(
      [...received].filter(([, times]) => times !== 1),
      [],
    )
    assert.equal(received.size, sent)
  })
  assert.equal((await program.stop()).code, 0)
})

testWith('postgresql', 'several processes on the embedded database are refused with the reason', async () => {
  const { code, stderr } = await (await launch({ env: { PROCESSES: '2' } })).ended
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^gatehouse: PROCESSES: with "2" needs DATABASE_URL: the embedded database belongs to one process$/m,
  )
})

testWith('postgresql', 'a first start whose workers refuse it ends with their line', async () => {
  const env = {
    PROCESSES: '2',
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
    REDIS_URL: 'redis://127.0.0.1:1',
    ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    GATEHOUSE_CONFIG: 'apps/gatehouse/test/support/production.yaml',
  }
  const { code, stderr } = await (await launch({ env })).ended
  assert.equal(code, 1)
  assert.match(stderr, /^gatehouse: PostgreSQL at DATABASE_URL can't be used: .+\n$/)
})
