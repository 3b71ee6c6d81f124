import type { Producer } from './producer.ts'

const anHour = 3_600_000

/** Tells the instance how the demo's users can be reached, and who of them does not want to be disturbed right now. */
export async function prepareRecipients(
  producer: Producer,
  users: readonly string[],
  quiet: readonly string[],
): Promise<void> {
  const recipients = users.map((user_id, index) => ({
    user_id,
    email: `${user_id}@example.com`,
    phone_number: `+4477009${String(index).padStart(5, '0')}`,
    locale: 'en',
    zoneinfo: 'UTC',
  }))
  await producer.patiently((gatehouse) => gatehouse.recipients.updateMany({ recipients }))
  for (const user of users) {
    const device = { id: user, device_id: 'phone', token: `token-of-${user}` }
    await producer.patiently((gatehouse) => gatehouse.users.devices.register(device))
  }
  const quiet_hours = { start: timeOfDay(Date.now() - anHour), end: timeOfDay(Date.now() + 2 * anHour) }
  for (const id of quiet) {
    const preference = { id, event_type: '*', quiet_hours }
    await producer.patiently((gatehouse) => gatehouse.users.preferences.update(preference))
  }
}

/** `hh:mm` in UTC. */
const timeOfDay = (unixMilliseconds: number): string => new Date(unixMilliseconds).toISOString().slice(11, 16)
