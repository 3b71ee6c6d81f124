import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApart } from '../support/apart.ts'
import { demoSecret } from '../support/demo-client.ts'
import { Producer } from '../support/producer.ts'
import { started } from '../support/program.ts'

/** Posts a form as the client `demo`. */
async function post(url: string, secret: string, fields: Record<string, string>): Promise<string> {
  const body = new URLSearchParams({ client_id: 'demo', client_secret: secret, ...fields })
  const answer = await fetch(url, { method: 'POST', body })
  assert.equal(answer.status, 200, url)
  return answer.text()
}

/**
 * A stream that was opened through the front door tells what is sent, goes on after a break where it was, and ends when
 * the token that opened it is revoked.
 */
async function followed(front: string, secret: string): Promise<void> {
  const { access_token: token } = JSON.parse(
    await post(`${front}/token`, secret, { grant_type: 'client_credentials' }),
  ) as { access_token: string }
  const producer = new Producer({ url: front, clientId: 'demo', clientSecret: secret })
  await producer.signIn()
  const send = (order_id: string) =>
    producer.notify({
      event: 'order.shipped',
      user_id: 'alice',
      channels: ['in-app'],
      data: { order_id, item: 'a tent', name: 'Alice', tracking_url: 'https://shop.example' },
    })
  const open = async (lastEventId: string) => {
    const cutting = new AbortController()
    const answer = await fetch(`${front}/v1/users/alice/inbox/stream`, {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': lastEventId },
      signal: cutting.signal,
    })
    assert.equal(answer.status, 200)
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body')
    let text = ''
    return {
      cut: () => cutting.abort(),
      /** Reads until the stream has said it, or, without it, to the end. */
      async until(said?: string) {
        while (said === undefined || !text.includes(said)) {
          const { done, value = '' } = await reader.read()
          text += value
          if (done) return said === undefined ? text : assert.fail(`it ended with ${text}`)
        }
        return text
      },
      last: () => [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? assert.fail(text),
    }
  }
  const first = await open('0')
  await send('S-1')
  await first.until('S-1')
  first.cut()
  await send('S-2')
  const second = await open(first.last())
  const resumed = await second.until('S-2')
  assert.ok(!resumed.includes('S-1'), 'what was seen does not come again')
  await post(`${front}/revoke`, secret, { token })
  await second.until()
  const refused = await fetch(`${front}/v1/users/alice/inbox`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(refused.status, 401)
}

test('an inbox stream is live, resumes, and ends with its revoked token, in one process', async () => {
  const program = await started()
  await followed(program.url, demoSecret(program))
  assert.equal((await program.stop()).code, 0)
})

test('an inbox stream is live, resumes, and ends with its revoked token, through a gateway', async () => {
  const { gateway, identity, programs } = await startApart()
  await followed(gateway.url, demoSecret(identity))
  for (const program of programs) assert.equal((await program.stop()).code, 0)
})
