import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { findProgram, testWith } from '@gatehouse/testing'
import { chromium } from 'playwright-core'
import { users } from '../support/journey.ts'
import { startIdentity } from '../support/live.ts'

const library = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('oidc-client-ts')), '../browser/oidc-client-ts.min.js'),
)

const page = (issuer: string) => `<!doctype html><title>SPA</title><script src="/oidc.js"></script><script>
const manager = new oidc.UserManager({ authority: '${issuer}', client_id: 'spa', redirect_uri: location.origin + '/callback',
  scope: 'openid profile offline_access', loadUserInfo: true, userStore: new oidc.WebStorageStateStore({ store: sessionStorage }) })
const say = (what) => { document.title = what }
async function run() {
  if (location.pathname !== '/callback') return
  const user = await manager.signinCallback()
  const refreshed = await manager.signinSilent()
  await manager.revokeTokens(['refresh_token'])
  const dead = await manager.signinSilent().then(() => 'alive', () => 'dead')
  say(['done', user.profile.sub, user.profile.name, refreshed.refresh_token !== user.refresh_token, dead].join(' '))
}
run().catch((error) => say('failed ' + error.message))
</script>`

testWith('chromium', 'oidc-client-ts signs in, refreshes and revokes across origins (CORS)', async () => {
  let issuer = ''
  const application = createServer((request, response) => {
    const script = request.url === '/oidc.js'
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html').end(script ? library : page(issuer))
  })
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(application.address() as AddressInfo).port}`
  const server = await startIdentity({
    users,
    clients: [
      {
        client_id: 'spa',
        client_name: 'Single page',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`${origin}/callback`],
      },
    ],
  })
  issuer = server.issuer
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const tab = await browser.newPage()
    await tab.goto(origin)
    await tab.evaluate('void manager.signinRedirect()')
    await tab.waitForSelector('#username')
    await tab.fill('#username', 'alice')
    await tab.fill('#password', 'correct horse')
    await tab.click('button[type=submit]')
    await tab.click('button[value=allow]')
    await tab.waitForFunction("document.title.startsWith('done') || document.title.startsWith('failed')")
    assert.equal(await tab.title(), 'done alice Alice Adams true dead')
    const stranger = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'spa' }),
    })
    assert.equal(stranger.headers.get('access-control-allow-origin'), null, 'only registered origins are allowed')
  } finally {
    await browser.close()
    await server.close()
    application.close()
  }
})
