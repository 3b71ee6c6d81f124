import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { type Running, service, setup, type TestResponse } from '../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({
    declared: { clients: [...clients, service], users },
    passwords: { maxConcurrent: 2, maxWaiting: 2 },
    accessTokenAlgorithm: 'RS256',
  })
  const longCheck = "UPDATE identity.account SET password_hash = replace(password_hash, 'm=64,t=1,', 'm=98304,t=10,')"
  await running.database.query(longCheck)
})
after(() => running.close())

async function logIn(): Promise<TestResponse> {
  const browser = new TestBrowser(running)
  return browser.submit(await browser.get('/account'), { username: 'alice', password: 'correct horse' })
}

test('a login flood that fills the hashing queue leaves the token endpoint responsive', async () => {
  let checked = 0
  const flood = Array.from({ length: 8 }, async () => {
    const response = await logIn()
    if (response.status !== 503) checked++
    return response
  })
  const turnedAway = await Promise.race(flood)
  assert.equal(turnedAway.status, 503, 'the queue is full')
  const { client_id, client_secret } = service
  for (let turn = 0; turn < 20; turn++) {
    const response = await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
    assert.equal(response.status, 200)
  }
  assert.equal(checked, 0, 'every token was issued before the first password was verified')
  const responses = await Promise.all(flood)
  assert.deepEqual(
    [503, 401].map((status) => responses.filter((response) => response.status === status).length),
    [4, 4],
  )
})

test('a login that finds the queue full gets the form again with Retry-After', async () => {
  const responses = await Promise.all(Array.from({ length: 5 }, logIn))
  const away = responses.find(({ status }) => status === 503)
  assert.equal(away?.headers['retry-after'], '5')
  assert.match(away?.text ?? '', /very busy right now/)
  assert.match(away?.text ?? '', /action="\/login"/, 'the form is shown again')
  assert.match(away?.text ?? '', /value="alice"/)
})
