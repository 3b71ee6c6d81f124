import type { File } from './schema/file.ts'

/** Whom and what the README's tour and the lines that the program prints speak of. */
export const tourist = { client: 'demo', user: 'alice', event: 'order.shipped', shop: 'demo-shop' } as const

/** Whether `file` still declares them, so that the tour's lines work when pasted. */
export function declaresTour({ clients = [], users = [], event_types = [] }: File): boolean {
  return (
    clients.some(({ client_id }) => client_id === tourist.client) &&
    users.some(({ id }) => id === tourist.user) &&
    event_types.some(({ event }) => event === tourist.event)
  )
}
