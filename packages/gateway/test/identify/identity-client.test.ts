import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createIdentityClient } from '../../src/index.ts'
import { startUpstream } from '../support/setup.ts'

/** An identity service that takes the token `fresh` and knows one user and one key. */
async function setup(context: TestContext) {
  const discarded: string[] = []
  const reports: string[] = []
  let token = 'stale'
  const { url } = await startUpstream(context, async (req, res) => {
    if (req.headers.authorization !== 'Bearer fresh') return res.writeHead(401).end()
    const request = `${req.method} ${req.url} ${await text(req)}`
    if (request === 'GET /users/a%2Fb ') return res.end('{"id":"a/b","plan":"pro"}')
    if (request === 'GET /users/planless ') return res.end('{"id":"planless"}')
    if (request === 'GET /admin/v1/clients/shop/plan ') return res.end('{"id":"shop","plan":"pro"}')
    if (request === 'GET /users/broken ') return res.writeHead(500).end()
    if (request === 'GET /users/odd ') return res.end('[]')
    if (request === 'POST /admin/v1/api-keys/resolve {"key":"k1"}')
      return res.end('{"id":"1","owner":"u1","kind":"user","scopes":["a"],"plan":"pro"}')
    if (request === 'GET /admin/v1/limit-settings/feed ' && req.headers['if-none-match'] === '"1"')
      return res.writeHead(304).end()
    if (request === 'GET /admin/v1/limit-settings/feed ')
      return res.end(
        '{"version":1,"etag":"\\"1\\"","document":{},"overrides":[{"kind":"ip","id":"::1","until":5}],"clients":[{"client":"shop","policy":"partners"}]}',
      )
    if (request.startsWith('PUT /admin/v1/limit-settings/gateways/p1 ')) {
      reports.push(request)
      return res.writeHead(204).end()
    }
    return res.writeHead(404).end()
  })
  const identity = createIdentityClient(url, {
    current: async () => token,
    discard(refused) {
      discarded.push(refused)
      token = 'fresh'
    },
  })
  context.after(() => identity.close())
  return { identity, discarded, reports }
}

test('plans are looked up at a remote identity service with the own token, renewed after 401', async (context) => {
  const { identity, discarded } = await setup(context)
  assert.deepEqual(await identity.planOf('a/b'), { plan: 'pro' })
  assert.deepEqual(discarded, ['stale'])
  assert.deepEqual(await identity.planOf('shop'), { plan: 'pro' }, 'a client is no user')
  assert.equal(await identity.planOf('nobody'), undefined)
  assert.equal(await identity.planOf('planless'), undefined)
  await assert.rejects(identity.planOf('broken'), /identity answered 500 to GET \/users\/broken/)
  await assert.rejects(identity.planOf('odd'), /no object/)
})

test('API keys are resolved at a remote identity service', async (context) => {
  const { identity } = await setup(context)
  assert.deepEqual(await identity.resolveApiKey('k1'), {
    id: '1',
    owner: 'u1',
    kind: 'user',
    scopes: ['a'],
    plan: 'pro',
  })
  assert.equal(await identity.resolveApiKey('k2'), undefined)
})

test('limits are followed at a remote identity service, and what applies is reported', async (context) => {
  const { identity, reports } = await setup(context)
  const source = identity.limitSource({ id: 'p1', host: 'gw', services: ['gateway'] })
  const feed = await source.read(undefined)
  assert.partialDeepStrictEqual(feed, {
    version: 1,
    document: {},
    overrides: [{ kind: 'ip', id: '::1', until: 5 }],
    clients: [{ client: 'shop', policy: 'partners' }],
  })
  assert.equal(await source.read(feed?.etag), undefined)
  await source.report({ version: 1 })
  assert.match(reports[0] ?? '', /\{"host":"gw","services":\["gateway"\],"version":1\}/)
})
