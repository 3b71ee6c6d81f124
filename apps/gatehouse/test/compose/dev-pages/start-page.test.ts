import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHttp, Secret, silentLog } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { composeDevSite, composeStartPage } from '../../../src/compose/dev-pages/start-page.ts'
import { readConfig } from '../../../src/config/config.ts'

async function config(text: string, env: Record<string, string> = {}) {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, text)
  return readConfig({ GATEHOUSE_CONFIG: path, ...env })
}

/** The answer of `/` under a configuration, and the pages that others link to. */
async function root(text: string, env: Record<string, string> = {}) {
  const parts = { config: await config(text, env) }
  const http = createHttp({ log: silentLog })
  const site = composeDevSite(parts)
  await composeStartPage(parts, http, site, {
    version: '1.2.3',
    database: '/a/folder',
    counters: 'in memory',
    metricsUrl: undefined,
    identity: undefined,
    developmentKey: new Secret('gk_of_this_start'),
    engines: async () => ({}),
  })
  const answer = await http.inject({ url: '/', headers: { host: 'localhost:8080', accept: 'text/html' } })
  return { status: answer.statusCode, location: answer.headers.location, body: answer.body, links: site.links('en') }
}

const production = {
  DATABASE_URL: 'postgres://x/y',
  ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
  SMTP_URL: 'smtp://127.0.0.1:9',
}
const upstream = 'upstreams: { web: { url: "http://127.0.0.1:4000" } }'

test('the start page is served where the pages under /dev/ are', async () => {
  const { status, body } = await root('')
  assert.equal(status, 200)
  assert.match(body, /\/a\/folder/)
})

test('calls carry a credential only where nobody but this machine reaches the page', async () => {
  const tour = `clients: [{ client_id: demo, client_secret: "0123456789abcdef0123456789abcdef", grant_types: [client_credentials] }]
users: [{ id: alice }]
event_types: [{ event: order.shipped, channels: [in-app] }]`
  const own = await root(tour)
  assert.match(own.body, /gk_of_this_start/)
  assert.match(own.body, /"\/dev\/inbox"/)
  const open = await root(`dev_pages: true\n${tour}`, { HOST: '0.0.0.0' })
  assert.equal(open.status, 200)
  assert.doesNotMatch(open.body, /gk_of_this_start|curl|dev\/inbox/)
})

test('production answers nothing at /, and its pages link to nothing under /dev/', async () => {
  const { status, body, links } = await root('', production)
  assert.equal(status, 404)
  assert.doesNotMatch(body, /folder|1\.2\.3/)
  assert.deepEqual(
    links.map(({ href }) => href),
    ['/docs', '/account'],
  )
  for (const env of [
    { HOST: '0.0.0.0', SMTP_URL: production.SMTP_URL },
    { DEV_PAGES: 'never', SMTP_URL: production.SMTP_URL },
  ])
    assert.equal((await root('', env)).status, 404, JSON.stringify(env))
})

test('start_page redirects, in production and elsewhere', async () => {
  for (const env of [production, {}]) {
    const { status, location } = await root('start_page: https://example.com/hello', env)
    assert.deepEqual([status, location], [302, 'https://example.com/hello'])
  }
  assert.equal((await root('start_page: /account', production)).location, '/account')
})

test('a start_page that leads nowhere, or elsewhere than it seems, is rejected', async () => {
  for (const wrong of ['//evil.example', '/\\\\evil.example', 'javascript:alert(1)', 'example.com', '/'])
    await assert.rejects(config(`start_page: "${wrong}"`), /start_page/, wrong)
  const routes = `${upstream}\nroutes: [{ path: "/*", upstream: web, public: true }]`
  await assert.rejects(config(`start_page: /account\n${routes}`), /start_page must be left out where a route leads \//)
})

test('a route that leads / to an upstream keeps it', async () => {
  for (const path of ['/', '/*'])
    assert.equal(
      (await root(`${upstream}\nroutes: [{ path: "${path}", upstream: web, public: true }]`)).status,
      404,
      path,
    )
})
