import { setTimeout as pause } from 'node:timers/promises'
import { Producer } from './producer.ts'

const secret = 'the-secret-of-a-shop-that-rehearses'

/** The client of a shop, as `gatehouse.yaml` declares it. */
export const declaredShop = `
clients:
  - client_id: shop
    client_secret: ${secret}
    grant_types: [client_credentials]
    scopes: [write:notifications, read:notifications, admin:notifications, read:personal-data]
    plan: unlimited
`

interface NotificationBody {
  readonly deliveries: ReadonlyArray<{ readonly channel: string; readonly state: string }>
}

/** The shop, signed in, with a text for each channel that its orders are told on. */
export async function openShop(url: string, channels: readonly string[]) {
  const shop = new Producer({ url, clientId: 'shop', clientSecret: secret })
  await shop.signIn()
  for (const channel of channels)
    await shop.call('PUT', `/v1/templates/order.shipped/${channel}/en`, {
      ...(channel === 'sms' ? {} : { subject: 'Shipped' }),
      body: 'Order {{ id }} left.',
    })
  return {
    shop,
    /** The state of the delivery on a channel. */
    async stateOf(id: string, channel: string): Promise<string | undefined> {
      const { deliveries } = (await shop.call('GET', `/v1/notifications/${id}`)) as NotificationBody
      return deliveries.find((each) => each.channel === channel)?.state
    },
  }
}

/** Asks until the answer is as wanted. */
export async function eventually<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (attempts > 600) throw new Error(`it never came to pass; the last answer: ${JSON.stringify(answer)}`)
    await pause(50)
  }
}
