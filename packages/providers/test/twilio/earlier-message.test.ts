import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeAnswer, type FakeRequest, startHttpFake } from '@gatehouse/fakes'
import { message, rehearse, sendOne, type TestEnd } from '../support/setup.ts'
import { accountSid, authToken, setup } from '../support/twilio.ts'

/** An SMS whose response was lost, and `count` newer ones with `text` to the same number. */
async function loseResponse(t: TestEnd, count: number, text: string) {
  const { fake, provider } = await setup(t)
  const sent = message()
  fake.answerNext('drop')
  assert.equal((await sendOne(provider, sent)).kind, 'ambiguous')
  for (let index = 0; index < count; index++)
    await sendOne(provider, message({ content: { body: text, locale: 'en' } }))
  assert.equal(fake.requests.length, count + 1)
  return { fake, provider, sent }
}

test('an SMS is found behind long texts and many newer messages to its number', async (t) => {
  for (const [count, text] of [
    [30, '😀'.repeat(800)],
    [60, 'A newer text.'],
  ] as const) {
    const { fake, provider, sent } = await loseResponse(t, count, text)
    assert.deepEqual(await sendOne(provider, { ...sent, retried: true }), {
      kind: 'accepted',
      providerMessageId: fake.requests[0]?.sid,
    })
    assert.equal(fake.requests.length, count + 1)
  }
})

test('with more newer messages than are searched, the retry is transient and nothing is sent', async (t) => {
  const { fake, provider, sent } = await loseResponse(t, 110, 'A newer text.')
  const result = await sendOne(provider, { ...sent, retried: true })
  assert.equal(result.kind, 'transient')
  assert.equal('noneAccepted' in result, false)
  assert.equal(fake.requests.length, 111)
})

const path = `/2010-04-01/Accounts/${accountSid}/Messages.json`

/** A Twilio whose lists are told; `sent` counts the messages it was sent. */
async function listing(t: TestEnd, answers: FakeAnswer[]) {
  const lists: FakeRequest[] = []
  const { fake, provider } = await rehearse(
    t,
    startHttpFake<FakeRequest>({
      kind: 'twilio',
      see(request) {
        if (request.method === 'POST')
          return { kind: 'message', message: request, answer: { status: 201, body: { sid: 'SM1' } } }
        lists.push(request)
        return { kind: 'aside', answer: answers.shift() ?? { status: 500 } }
      },
      gone: { status: 400 },
    }),
    ({ url }) => ({ provider: 'twilio', account_sid: accountSid, auth_token: authToken, from: '+14155550199', url }),
  )
  return { lists, sent: fake.requests, provider }
}

const ago = (ms: number) => new Date(Date.now() - ms).toUTCString().replace('GMT', '+0000')

const listed = (age: number, body = 'Another text.', sentAge: number | null = age) => ({
  sid: 'SM0',
  body,
  date_created: ago(age),
  date_sent: sentAge === null ? null : ago(sentAge),
})

test('the next page is read from the same account at the same host, whatever its address', async (t) => {
  const body = { messages: [listed(0)], next_page_uri: `http://127.0.0.1:1/elsewhere?Page=1&PageToken=PT1` }
  const found = { messages: [listed(0, 'Order A-1 left.')], next_page_uri: null }
  const { lists, sent, provider } = await listing(t, [
    { status: 200, body },
    { status: 200, body: found },
  ])
  const result = await sendOne(provider, message({ retried: true }))
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: 'SM0' })
  assert.deepEqual([lists[1]?.path, lists[1]?.query.toString(), sent.length], [path, 'Page=1&PageToken=PT1', 0])
})

test('the search ends at messages older than the delivery, and fails with any of its pages', async (t) => {
  const next = `${path}?Page=1&PageToken=PT1`
  const old = { messages: [listed(300_000), listed(400_000)], next_page_uri: next }
  const ended = await listing(t, [{ status: 200, body: old }])
  assert.equal((await sendOne(ended.provider, message({ retried: true }))).kind, 'accepted')
  assert.deepEqual([ended.lists.length, ended.sent.length], [1, 1])
  const scheduled = listed(300_000, 'Another text.', 0)
  const queued = listed(300_000, 'Another text.', null)
  for (const newer of [listed(0), scheduled, queued])
    for (const second of [{ status: 503 }, { status: 200, body: '{"messages": [' }]) {
      const recent = { status: 200, body: { messages: [newer], next_page_uri: next } }
      const { lists, sent, provider } = await listing(t, [recent, second])
      assert.equal((await sendOne(provider, message({ retried: true }))).kind, 'transient')
      assert.deepEqual([lists.length, sent.length], [2, 0])
    }
})
