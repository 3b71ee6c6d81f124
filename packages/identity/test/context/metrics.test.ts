import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createMetrics } from '@gatehouse/kit'
import { clients, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { service, serviceToken, setup } from '../support/setup.ts'

test('tokens, errors, logins, events, purged rows, key ages and pending hashes are measured', async () => {
  const metrics = createMetrics()
  const running = await setup({ declared: { clients: [...clients, service], users }, metrics })
  const lines = async () => (await metrics.metrics()).split('\n').filter((line) => line.startsWith('identity_'))
  const has = async (line: string) =>
    assert.ok((await lines()).includes(line), `${line}\nin\n${(await lines()).join('\n')}`)
  await serviceToken(running)
  const { refresh_token = '' } = await getTokens(running)
  const refresh = { grant_type: 'refresh_token', refresh_token, ...webSecret }
  await running.post('/token', refresh)
  await running.post('/token', { ...refresh, refresh_token: 'gone' })
  await running.post('/token', { ...refresh, client_secret: 'wrong' })
  const browser = new TestBrowser(running)
  await browser.submit(await browser.get('/account'), { username: 'alice', password: 'wrong' })
  for (const grant of ['client_credentials', 'authorization_code', 'refresh_token']) {
    await has(`identity_tokens_issued_total{grant_type="${grant}"} 1`)
  }
  for (const error of ['invalid_grant', 'invalid_client']) await has(`identity_token_errors_total{error="${error}"} 1`)
  for (const outcome of ['success', 'wrong'])
    await has(`identity_logins_total{method="password",outcome="${outcome}"} 1`)
  await has('identity_security_events_total{type="consent_granted"} 1')
  await has('identity_password_hashes_pending 0')
  running.clock.advance(3600_000)
  for (const alg of ['ES256', 'RS256']) await has(`identity_signing_key_age_seconds{alg="${alg}"} 3600`)
  for (const worker of running.identity.workers) worker.resume()
  while (!(await lines()).includes('identity_purged_rows_total{table="authorization_code"} 1')) await nextTurn()
  await running.close()
})
