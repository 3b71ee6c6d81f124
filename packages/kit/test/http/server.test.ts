import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { createHttp, createLog, DatabasePartUnavailable, Problem, silentLog } from '../../src/index.ts'

function setup() {
  const http = createHttp({ log: silentLog, bodyLimitBytes: 1_000 })
  const body = Type.Object(
    { count: Type.Integer(), name: Type.String(), tags: Type.Optional(Type.Array(Type.String())) },
    { additionalProperties: false },
  )
  const querystring = Type.Object(
    { limit: Type.Optional(Type.Integer({ maximum: 10 })) },
    { additionalProperties: false },
  )
  http.post('/things', { schema: { body, querystring } }, async (request) => ({ ...request.body, ...request.query }))
  http.get('/broken', async () => {
    throw new Error('the password is hunter2')
  })
  http.get('/teapot', async () => {
    throw new Problem(409, 'It is taken.', { members: { by: 'ann' }, headers: { 'retry-after': '3' } })
  })
  http.get('/half-dead', async () => {
    throw new DatabasePartUnavailable('the node 10.0.0.7:5432 does not answer', 'A node does not answer')
  })
  const post = (payload: string | object, headers: Record<string, string> = {}) =>
    http.inject({
      method: 'POST',
      url: '/things',
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    })
  return { http, post }
}

test('a body is not coerced: every wrong, missing and unknown member is reported at once', async () => {
  const { post } = setup()
  const answer = await post({ count: '1', extra: true })
  assert.equal(answer.statusCode, 400)
  assert.match(answer.headers['content-type'] as string, /^application\/problem\+json/)
  assert.deepEqual(
    answer
      .json()
      .errors.map(({ pointer }: { pointer: string }) => pointer)
      .sort(),
    ['/count', '/extra', '/name'],
  )
})

test('a query string is text, so a number in it is read as one and still checked', async () => {
  const { http } = setup()
  const send = (limit: string) =>
    http.inject({ method: 'POST', url: `/things?limit=${limit}`, payload: { count: 1, name: 'a' } })
  assert.equal((await send('7')).json().limit, 7)
  assert.equal((await send('70')).statusCode, 400)
  assert.equal((await send('many')).statusCode, 400)
})

for (const [what, payload] of [
  ['an escaped NUL', '{"count":1,"name":"a\\u0000b"}'],
  ['a lone surrogate', '{"count":1,"name":"\\ud800"}'],
  ['a NUL in a nested list', '{"count":1,"name":"a","tags":["ok","\\u0000"]}'],
  ['a NUL in a member name', '{"count":1,"name":"a","\\u0000":1}'],
] as const) {
  test(`${what} in a body is answered with 400`, async () => {
    const { post } = setup()
    assert.equal((await post(payload)).statusCode, 400)
  })
}

test('JSON that is nested too deep is rejected with its place and the allowed depth', async () => {
  const http = createHttp({ log: silentLog })
  http.post('/anything', async () => 'accepted')
  const post = (levels: number) => {
    const payload = `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    return http.inject({ method: 'POST', url: '/anything', payload, headers: { 'content-type': 'application/json' } })
  }
  assert.equal((await post(64)).statusCode, 200)
  for (const levels of [65, 5_000, 40_000]) {
    const refused = await post(levels)
    assert.equal(refused.statusCode, 400, refused.body)
    assert.match(refused.json().detail, /must not be nested deeper than 64 levels/)
  }
})

test('a point in time is checked as RFC 3339 says, and bounded', async () => {
  const http = createHttp({ log: silentLog })
  const at = Type.Object({ at: Type.String({ format: 'date-time' }) })
  http.get('/at', { schema: { querystring: at } }, async () => 'accepted')
  http.post('/at', { schema: { body: at } }, async () => 'accepted')
  const status = async (time: string) => {
    const { statusCode } = await http.inject({ url: `/at?at=${encodeURIComponent(time)}` })
    const answer = await http.inject({ method: 'POST', url: '/at', payload: { at: time } })
    assert.equal(answer.statusCode, statusCode)
    if (statusCode === 400) assert.match(answer.json().errors[0].detail, /date and time of RFC 3339 from 1970 to 9999/)
    return statusCode
  }
  assert.equal(await status('2026-12-31T23:59:60Z'), 200)
  for (const time of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2026-12-31T18:59:60Z', 'tomorrow']) {
    assert.equal(await status(time), 400)
  }
})

test('invalid UTF-8, invalid JSON, a prototype in JSON and a large body are rejected clearly', async () => {
  const { http, post } = setup()
  const bytes = Buffer.concat([Buffer.from('{"count":1,"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
  const binary = await http.inject({
    method: 'POST',
    url: '/things',
    payload: bytes,
    headers: { 'content-type': 'application/json' },
  })
  assert.deepEqual([binary.statusCode, binary.json().detail], [400, 'The body is not UTF-8.'])
  assert.equal((await post('{"count":')).statusCode, 400)
  const large = await post({ count: 1, name: 'x'.repeat(2_000) })
  assert.deepEqual(
    [large.statusCode, large.json().detail],
    [413, 'The body is larger than the 1000 bytes allowed here.'],
  )
  const plain = await post('count=1', { 'content-type': 'text/plain; charset=utf-8' })
  assert.deepEqual([plain.statusCode, plain.json().detail], [415, 'The body must be application/json, not text/plain.'])
})

for (const [member, pointer] of [
  ['"__proto__":{"x":1}', '/__proto__'],
  ['"tags":[{"\\u005f_proto__":1}]', '/tags/0/__proto__'],
  ['"constructor":{"prototype":{"x":1}}', '/constructor'],
] as const) {
  test(`a body with ${member} is rejected with the name of that member`, async () => {
    const { post } = setup()
    const answer = await post(`{"count":1,"name":"a",${member}}`)
    assert.equal(answer.statusCode, 400)
    assert.deepEqual(answer.json().errors, [{ pointer, detail: 'is a name that no member may have' }])
  })
}

test('faults name the part of the request and explain the expected form or format', async () => {
  const { http } = setup()
  const params = Type.Object({ id: Type.String({ pattern: '^[a-z]+$', description: 'A word.', examples: ['orders'] }) })
  const querystring = Type.Object({ mail: Type.Optional(Type.String({ format: 'email' })) })
  http.get('/words/:id', { schema: { params, querystring } }, async () => ({}))
  const detail = async (url: string) => (await http.inject(url)).json().detail
  assert.equal(
    await detail('/words/42'),
    'The path is not valid: /id does not have the form that is expected here: A word, such as orders.',
  )
  assert.equal(
    await detail('/words/a?mail=x'),
    'The query is not valid: /mail must be one email address such as alice@example.com.',
  )
})

test('an unexpected error becomes a 500 with the request id and nothing else', async () => {
  const { http } = setup()
  const answer = await http.inject({ url: '/broken', headers: { 'x-request-id': 'request-42' } })
  assert.equal(answer.statusCode, 500)
  assert.equal(answer.json().request_id, 'request-42')
  assert.ok(!answer.body.includes('hunter2'))
})

test('a problem is written as RFC 9457 says, with its members and headers', async () => {
  const { http } = setup()
  const answer = await http.inject({ url: '/teapot' })
  const { type, title, status, detail, by } = answer.json()
  assert.deepEqual(
    { type, title, status, detail, by },
    { type: 'about:blank', title: 'Conflict', status: 409, detail: 'It is taken.', by: 'ann' },
  )
  assert.equal(answer.headers['retry-after'], '3')
})

test('an unknown path is a 404 problem, and every response has safe headers and a request id', async () => {
  const { http } = setup()
  const answer = await http.inject({ url: '/nowhere?token=xyz' })
  assert.equal(answer.statusCode, 404)
  assert.ok(!answer.body.includes('xyz'))
  assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  assert.match(answer.headers['content-security-policy'] as string, /frame-ancestors 'none'/)
  assert.match(answer.headers['x-request-id'] as string, /^[0-9a-f-]{36}$/)
})

test('a request id that could forge a log line is replaced', async () => {
  const { http } = setup()
  const answer = await http.inject({ url: '/nowhere', headers: { 'x-request-id': 'a b"}{' } })
  assert.match(answer.headers['x-request-id'] as string, /^[0-9a-f-]{36}$/)
})

test('the log has one line per request with method, path, status and time, and no secret', async () => {
  const lines: string[] = []
  const http = createHttp({ log: createLog('info', { write: (line: string) => lines.push(line) }) })
  http.get('/callback', async () => ({}))
  http.get('/preferences/:token', async () => ({}))
  http.get('/l/:id', async () => ({}))
  const token = `v1.${'s3cret'.repeat(20)}`
  await http.inject({ url: '/callback?code=s3cret', headers: { authorization: 'Bearer s3cret', cookie: 's=s3cret' } })
  await http.inject({ url: `/preferences/${token}` })
  await http.inject({ url: `/nowhere/${token}` })
  await http.inject({ url: '/l/s3crets3cret' })
  const entries = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    entries.map(({ msg, method, path, status }) => [msg, method, path, status]),
    [
      ['answered', 'GET', '/callback', 200],
      ['answered', 'GET', '/preferences/v1.s3cre…', 200],
      ['answered', 'GET', '/nowhere/v1.s3cre…', 404],
      ['answered', 'GET', '/l/s3cr…', 200],
    ],
  )
  assert.ok(entries.every(({ ms, ip, reqId }) => ms >= 0 && ip === '127.0.0.1' && reqId.length > 30))
  assert.ok(!lines.join('').includes('s3crets3cret') && !lines.join('').includes('Bearer'))
})

test('a method that a path does not have is refused before its body is looked at', async () => {
  const http = createHttp({ log: silentLog })
  http.post('/a', async () => 'posted')
  for (const [method, headers] of [
    ['QUERY', {}],
    ['PUT', { 'content-type': 'image/png' }],
    ['PUT', { 'content-type': 'application/json' }],
  ] as const) {
    const answer = await http.inject({
      method: method as 'PUT',
      url: '/a',
      headers,
      payload: method === 'PUT' ? '{' : '',
    })
    assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'POST'], `${method} ${JSON.stringify(headers)}`)
  }
})

test('a part of a path that is too long is answered by 414 and not repeated', async () => {
  const http = createHttp({ log: silentLog })
  http.get('/users/:id', async () => 'found')
  const answer = await http.inject(`/users/${'x'.repeat(1025)}`)
  const { title, detail } = answer.json()
  assert.deepEqual(
    [answer.statusCode, title, detail],
    [414, 'URI Too Long', 'A part of the path is longer than 1024 characters.'],
  )
})

test('a path that is there under other methods answers 405 and says which', async () => {
  const { http } = setup()
  for (const method of ['DELETE', 'PUT', 'OPTIONS', 'GET'] as const) {
    const answer = await http.inject({ method, url: '/things?limit=1' })
    assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'POST'], method)
    assert.match(answer.headers['content-type'] as string, /^application\/problem\+json/)
  }
  const answer = await http.inject({ method: 'POST', url: '/broken' })
  assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'GET, HEAD'])
  assert.equal((await http.inject({ method: 'DELETE', url: '/nothing' })).statusCode, 404)
})

test('changes may come as a merge patch, which nothing but PATCH takes', async () => {
  const { http } = setup()
  http.patch('/things', async ({ body }) => body as object)
  const send = (method: 'PATCH' | 'POST', type: string) =>
    http.inject({ method, url: '/things', payload: '{"name":null}', headers: { 'content-type': type } })
  assert.deepEqual((await send('PATCH', 'application/merge-patch+json; charset=utf-8')).json(), { name: null })
  assert.equal((await send('PATCH', 'application/json')).statusCode, 200)
  const refused = await send('PATCH', 'application/xml')
  assert.deepEqual(
    [refused.statusCode, refused.headers['accept-patch']],
    [415, 'application/json, application/merge-patch+json'],
  )
  const misplaced = await send('POST', 'application/merge-patch+json')
  assert.deepEqual([misplaced.statusCode, misplaced.headers.accept], [415, 'application/json'])
  assert.match(misplaced.json().detail, /must be application\/json, not application\/merge-patch\+json/)
})

test('a part of the database that is away is a 503 with its reason, without its address', async () => {
  const { http } = setup()
  const answer = await http.inject('/half-dead')
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['retry-after'], '2')
  assert.equal(answer.json().detail, 'A node does not answer; try again.')
})

test('a response holds what its schema names for its status, also by a shared schema', async () => {
  const http = createHttp({ log: silentLog })
  http.addSchema({ $id: 'name', type: 'string' })
  const named = { type: 'object', properties: { name: { $ref: 'name#' } }, required: ['name'] }
  const counted = { type: 'object', properties: { count: { type: 'integer' } } }
  const response: Record<number, object> = { 200: named, 201: counted }
  http.get('/things/:status', { schema: { response } }, async (request, reply) => {
    reply.code(Number((request.params as { status: string }).status))
    return reply.send({ name: 'ann', count: 1, secret: 'hush' })
  })
  for (const [status, body] of [
    [200, '{"name":"ann"}'],
    [201, '{"count":1}'],
    [200, '{"name":"ann"}'],
  ])
    assert.equal((await http.inject(`/things/${status}`)).body, body)
})
