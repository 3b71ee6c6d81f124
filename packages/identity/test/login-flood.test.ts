import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PasswordHasher } from '../src/passwords/hasher.ts'
import { clients, TestBrowser, users } from './journey.ts'
import { type Answer, type Running, service, setup } from './setup.ts'

let running: Running
before(async () => {
  running = await setup({
    declared: { clients: [...clients, service], users },
    passwords: { maxConcurrent: 2, maxWaiting: 2 },
    accessTokenAlgorithm: 'RS256',
  })
  const longCheck = "UPDATE identity.account SET password_hash = replace(password_hash, 't=2,', 't=20,')"
  await running.database.query(longCheck)
})
after(() => running.close())

async function logIn(): Promise<Answer> {
  const browser = new TestBrowser(running)
  return browser.submit(await browser.get('/account'), { username: 'alice', password: 'correct horse' })
}

test('a login flood that holds the hashing queue full leaves the token endpoint at work', async () => {
  let checked = 0
  const flood = Array.from({ length: 8 }, async () => {
    const answer = await logIn()
    if (answer.status !== 503) checked++
    return answer
  })
  const turnedAway = await Promise.race(flood)
  assert.equal(turnedAway.status, 503, 'the queue is full')
  const { client_id, client_secret } = service
  for (let turn = 0; turn < 20; turn++) {
    const answer = await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
    assert.equal(answer.status, 200)
  }
  assert.equal(checked, 0, 'no password was checked before the last token was there')
  const answers = await Promise.all(flood)
  assert.deepEqual(
    [503, 401].map((status) => answers.filter((answer) => answer.status === status).length),
    [4, 4],
  )
})

test('a login that finds the queue full is told so on its page, and when to come again', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, logIn))
  const away = answers.find(({ status }) => status === 503)
  assert.equal(away?.headers['retry-after'], '5')
  assert.match(away?.text ?? '', /very busy right now/)
  assert.match(away?.text ?? '', /action="\/login"/, 'the form is there to try again')
  assert.match(away?.text ?? '', /value="alice"/)
})

test('a full queue refuses the next one alone: nothing else is hurt, and it empties', async () => {
  const passwords = new PasswordHasher({ maxConcurrent: 1, maxWaiting: 1 })
  const [first, second, third] = await Promise.allSettled([
    passwords.hash('correct horse'),
    passwords.verify('correct horse', undefined),
    passwords.verify('correct horse', undefined),
  ])
  assert.deepEqual([first.status, second.status, third.status], ['fulfilled', 'fulfilled', 'rejected'])
  assert.equal(second.status === 'fulfilled' && second.value, false, 'nobody’s password matches')
  assert.equal(passwords.depth, 0)
  assert.equal(await passwords.verify('correct horse', first.status === 'fulfilled' ? first.value : ''), true)
})
