/**
 * Writes examples/events.jsonl anew: what a shop with a photo community might tell Gatehouse in an hour. The same every
 * time, so that the demo can say beforehand what must become of each line: `npx node examples/make-events.ts`.
 */
import { writeFileSync } from 'node:fs'

interface Event {
  readonly event: string
  readonly user_id: string
  readonly data: Readonly<Record<string, unknown>>
  readonly dedup_key?: string
}

const random = seeded(20_261_121)
const users = Array.from({ length: 60 }, (_, index) => `user-${String(index + 1).padStart(3, '0')}`)
const names = ['Ann', 'Bob', 'Chidi', 'Dana', 'Emre', 'Fatou', 'Goran', 'Hana', 'Iris', 'João', 'Kenji', 'Leïla']
const items = [
  'a red bicycle',
  'two espresso cups',
  'a wool blanket',
  '“Moby-Dick”',
  'a tent for four',
  'headphones & a cable',
]
const events: Event[] = []

for (let order = 1; order <= 420; order++) events.push(shipped(order))
for (let comment = 1; comment <= 230; comment++) events.push(commented(comment))
for (let alert = 1; alert <= 45; alert++) events.push(alerted(alert))
for (let payment = 1; payment <= 35; payment++) events.push(declined(payment))
for (const user of users.slice(0, 40)) events.push(newsletter(user))
for (let photo = 1; photo <= 24; photo++) events.push(...liked(photo))
shuffle(events)
replay(150)
burst()
coupons()
writeFileSync(new URL('events.jsonl', import.meta.url), `${events.map((event) => JSON.stringify(event)).join('\n')}\n`)
console.log(`${events.length} events`)

function shipped(order: number): Event {
  const order_id = `A-${10_000 + order}`
  const data = { order_id, item: pick(items), tracking_url: `https://shop.example/track/${order_id}` }
  return { event: 'order.shipped', user_id: pick(users), data, dedup_key: `shipped:${order_id}` }
}

function commented(comment: number): Event {
  const data = {
    author: pick(names),
    text: 'What a view! Where was this taken?',
    photo_url: `https://shop.example/photos/${comment % 24}`,
  }
  return { event: 'comment.added', user_id: pick(users), data, dedup_key: `comment:${comment}` }
}

function alerted(alert: number): Event {
  const data = {
    device: pick(['Firefox on Linux', 'Safari on an iPhone', 'Chrome on Windows']),
    place: pick(['Lisbon', 'Nairobi', 'Osaka']),
  }
  return { event: 'security.alert', user_id: pick(users), data, dedup_key: `alert:${alert}` }
}

function declined(payment: number): Event {
  const data = { amount: `€${20 + payment}.00`, card: `•••• ${4_000 + payment}` }
  return { event: 'payment.failed', user_id: pick(users), data, dedup_key: `payment:${payment}` }
}

function newsletter(user: string): Event {
  return {
    event: 'newsletter.weekly',
    user_id: user,
    data: { issue: 47, headline: 'Winter is for wool' },
    dedup_key: 'issue:47',
  }
}

/**
 * Between one and eight people like one photo; some like it twice. Its owner hears of nothing else, so that the demo can
 * say beforehand what becomes of everybody's other events, whenever the likes are flushed.
 */
function liked(photo: number): Event[] {
  const user_id = `owner-${String(photo).padStart(3, '0')}`
  return Array.from({ length: 1 + Math.floor(random() * 8) }, (_, index) => ({
    event: 'photo.liked',
    user_id,
    data: { actor: names[(photo + index * (1 + (photo % 2))) % names.length] ?? 'Ann', photo: `photo ${photo}` },
    dedup_key: `like:${photo}:${index}`,
  }))
}

/** A producer that delivers at least once says some things again, later. */
function replay(count: number): void {
  for (let index = 0; index < count; index++) {
    const again = pick(events)
    const earliest = events.indexOf(again) + 1
    events.splice(earliest + Math.floor(random() * (events.length - earliest + 1)), 0, again)
  }
}

/** One user whose orders all leave the house at once: far more than anyone wants to hear of in a day. */
function burst(): void {
  const at = Math.floor(events.length / 2)
  for (let order = 900; order < 940; order++) events.splice(at, 0, { ...shipped(order), user_id: 'user-007' })
}

/** Coupons that end, for one user in five: the shop has forgotten to write that message. */
function coupons(): void {
  for (const [index, user] of users.filter((_, place) => place % 5 === 4).entries()) {
    const data = { code: `WOOL-${100 + index}`, worth: '€10' }
    events.splice(80 * (index + 1), 0, { event: 'coupon.expiring', user_id: user, data, dedup_key: `coupon:${index}` })
  }
}

function pick<Item>(from: readonly Item[]): Item {
  const item = from[Math.floor(random() * from.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

function shuffle(list: Event[]): void {
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const [a, b] = [list[last], list[other]]
    if (a && b) [list[last], list[other]] = [b, a]
  }
}

/** mulberry32: small, and the same on every machine. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
