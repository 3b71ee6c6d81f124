import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { listen, setup, startUpstream } from '../support/setup.ts'

/**
 * A gateway before an upstream of four connections, which streams at `/live`, answers at `/slow` when it is told to, and
 * otherwise answers what was uploaded.
 */
async function limited(context: TestContext) {
  const begun: IncomingMessage[] = []
  const slow: ServerResponse[] = []
  let noticed = () => {}
  const upstream = await startUpstream(context, async (req, res) => {
    begun.push(req)
    noticed()
    if (req.url?.startsWith('/live')) return stream(res)
    if (req.url?.startsWith('/slow')) return slow.push(res)
    let length = 0
    try {
      for await (const chunk of req) length += (chunk as Buffer).length
      res.end(String(length))
    } catch {
      res.destroy()
    }
  })
  const made = await setup({
    routes: [
      { path: '/live', upstream: 'app' },
      { path: '/log', upstream: 'app' },
      { path: '/upload', upstream: 'app' },
      { path: '/slow', upstream: 'app' },
    ],
    upstreams: { app: { url: upstream.url, connections: 4 } },
    policies: { anonymous: { rpm: 100_000 } },
    planOf: async () => ({ plan: 'unlimited' }),
  })
  // As a check that waits for another server, during which the rest of a small body arrives.
  made.http.addHook('preHandler', async ({ raw }) => {
    while (raw.url === '/slow' && !raw.complete) await setImmediate()
  })
  const url = await listen(context, made)
  const open: ClientRequest[] = []
  context.after(() => {
    for (const one of open) one.destroy()
  })
  const send = (path: string, headers: object, method = 'GET') => {
    const sent = request(`${url}${path}`, { method, headers: { ...headers }, agent: false }).on('error', () => {})
    if (method === 'GET') sent.end()
    open.push(sent)
    const answered = once(sent, 'response').then(([answer]) => (answer as IncomingMessage).on('error', () => {}))
    answered.catch(() => {})
    return { sent, answered }
  }
  /** Begins an upload and waits until the upstream has the beginning. */
  const upload = async (headers: object) => {
    const reached = new Promise<void>((resolve) => {
      noticed = resolve
    })
    const one = send('/upload', headers, 'POST')
    one.sent.write('slow ')
    await reached
    return one
  }
  return { ...made, url, begun, slow, send, upload }
}

function stream(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.write('data: hello\n\n')
}

test('one caller has streams on half of the connections of an upstream, others have the rest', async (context) => {
  const { send, bearer } = await limited(context)
  const mine = [send('/live', bearer()), send('/live', bearer({ jti: 'other' }))]
  for (const { answered } of mine) assert.equal((await answered).resume().statusCode, 200)
  const refused = await send('/live', bearer()).answered
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '10'])
  const [problem] = (await once(refused, 'data')) as [Buffer]
  assert.match(problem.toString(), /already has 2 open uploads and streams at the service behind this address/)
  assert.equal((await send('/log', bearer()).answered).statusCode, 200, 'short requests are not counted')
  const others = send('/live', bearer({ sub: 'u2' }))
  assert.equal((await others.answered).statusCode, 200)
  mine[0]?.sent.destroy()
  for (;;) {
    const again = send('/live', bearer())
    if ((await again.answered).statusCode === 200) break
  }
})

test('uploads count after five seconds; one too many is answered 429 and frees its connection', async (context) => {
  const { upload, send, bearer } = await limited(context)
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const [first, second, third] = [await upload(bearer()), await upload(bearer()), await upload(bearer())]
  context.mock.timers.tick(5_000)
  assert.equal((await third.answered).statusCode, 429)
  const other = send('/upload', bearer({ sub: 'u2' }), 'POST')
  other.sent.end('quick')
  const [text] = (await once(await other.answered, 'data')) as [Buffer]
  assert.equal(text.toString(), '5')
  for (const one of [first, second]) {
    one.sent.end('end')
    const [length] = (await once(await one.answered, 'data')) as [Buffer]
    assert.equal(length.toString(), '8', 'those before go on')
  }
  const later = await upload(bearer())
  context.mock.timers.tick(5_000)
  later.sent.end('end')
  assert.equal((await later.answered).statusCode, 200, 'the share is given back')
})

test('a request whose body was all there at once holds no share while it waits for its answer', async (context) => {
  const { slow, send, bearer } = await limited(context)
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = [send('/slow', bearer(), 'POST'), send('/slow', bearer(), 'POST'), send('/slow', bearer(), 'POST')]
  for (const { sent } of waiting) sent.end('quick')
  while (slow.length < waiting.length) await setImmediate()
  context.mock.timers.tick(5_000)
  for (const response of slow) response.end()
  for (const { answered } of waiting) assert.equal((await answered).statusCode, 200)
})
