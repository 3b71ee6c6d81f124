import assert from 'node:assert/strict'
import { test } from 'node:test'
import { started } from '../support/program.ts'

test('a producer sends more events a minute than its tier allows requests', async () => {
  const program = await started()
  const secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
  const basic = Buffer.from(`demo:${secret}`).toString('base64')
  const answer = await fetch(`${program.url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ event: 'order.shipped', user_id: 'nobody', data: { order_id: 'A-1' } })
  const send = () => fetch(`${program.url}/v1/notify`, { method: 'POST', headers, body })
  assert.equal((await send()).headers.get('x-ratelimit-limit'), '60000')
  for (let i = 0; i < 110; i++) assert.notEqual((await send()).status, 429)
  const read = await fetch(`${program.url}/users/alice`, { headers })
  assert.deepEqual([read.status, read.headers.get('x-ratelimit-limit')], [200, '100'])
  assert.equal((await program.stop()).code, 0)
})
