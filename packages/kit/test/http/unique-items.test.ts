import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { createHttp, silentLog } from '../../src/index.ts'

function setup() {
  const http = createHttp({ log: silentLog, bodyLimitBytes: 4_000_000 })
  const names = Type.Array(Type.Enum(['push', 'email', 'sms']), { uniqueItems: true })
  const places = Type.Array(Type.Object({ x: Type.Number(), y: Type.Optional(Type.Number()) }), { uniqueItems: true })
  const body = Type.Object({ names: Type.Optional(names), places: Type.Optional(places) })
  http.post('/sets', { schema: { body } }, async () => ({}))
  return async (payload: object) => {
    const answer = await http.inject({ method: 'POST', url: '/sets', payload })
    return { status: answer.statusCode, errors: answer.json().errors as { pointer: string; detail: string }[] }
  }
}

test('an item that is there twice is refused with both places, whatever it is', async () => {
  const post = setup()
  for (const [payload, pointer] of [
    [{ names: ['push', 'email', 'push'] }, '/names'],
    [{ places: [{ x: 1, y: 2 }, { x: 1 }, { y: 2, x: 1 }] }, '/places'],
  ] as const) {
    const { status, errors } = await post(payload)
    assert.equal(status, 400)
    assert.deepEqual(errors, [{ pointer, detail: 'must not repeat an item: 2 and 0 are the same' }])
  }
  const { status } = await post({ names: ['sms', 'push', 'email'], places: [{ x: 1 }, { y: 1, x: 1 }, { x: 2 }] })
  assert.equal(status, 200)
})

// Comparing each with each would take some minutes.
test('a large set is compared without holding up others', { timeout: 60_000 }, async () => {
  const post = setup()
  const numbers = Array.from({ length: 300_000 }, (_, n) => n)
  for (const payload of [{ names: numbers }, { places: numbers.map((x) => ({ x: x % 299_999 })) }])
    assert.equal((await post(payload)).status, 400)
})
