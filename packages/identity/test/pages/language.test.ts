import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorizeUrl, clients, pkce } from '../support/journey.ts'
import { setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients } })

test('pages are shown in the requested language', async () => {
  const german = await running.http.inject({
    url: '/account',
    headers: { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' },
  })
  assert.match(german.payload, /<html lang="de">/)
  assert.match(german.payload, /Anmelden/)
  const url = authorizeUrl({
    client_id: 'web',
    response_type: 'code',
    scope: 'openid',
    ui_locales: 'fr de',
    ...pkce(),
  })
  assert.match((await running.http.inject(url)).payload, /<html lang="de">/)
})
