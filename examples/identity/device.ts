/**
 * A program without a browser, such as a command line tool (device grant, RFC 8628).
 *
 *     npx node examples/identity/device.ts
 */
import { setTimeout } from 'node:timers/promises'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const client_id = process.env.CLIENT_ID ?? 'demo-device'

async function post(path: string, form: Record<string, string>): Promise<Record<string, string | number>> {
  const answer = await fetch(`${issuer}${path}`, { method: 'POST', body: new URLSearchParams({ client_id, ...form }) })
  return (await answer.json()) as Record<string, string | number>
}

const begun = await post('/device_authorization', { scope: 'openid offline_access' })
if (begun.error) throw new Error(String(begun.error_description))
console.log(`Open ${begun.verification_uri} and enter ${begun.user_code}`)

let seconds = Number(begun.interval)
for (;;) {
  await setTimeout(seconds * 1000)
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const answer = await post('/token', { grant_type, device_code: String(begun.device_code) })
  if (answer.error === 'slow_down') seconds += 5
  else if (answer.error === 'authorization_pending') continue
  else if (answer.error) throw new Error(String(answer.error_description))
  else {
    console.log(`connected; the access token works for ${answer.expires_in} seconds`)
    break
  }
}
