import type { File } from './schema/file.ts'

/** Whom and what the README's tour and the lines that the program prints speak of. */
export const tourist = { client: 'demo', user: 'alice', event: 'order.shipped', shop: 'demo-shop' } as const

/**
 * How many requests show that the plan of whoever follows the tour is exceeded: the client's is pro, 100 a minute, that
 * of a key of the start free, 10. More than that by what a slow machine is given back meanwhile, since they may begin in
 * one minute and end in the next.
 */
export const requestsOverPlan = { client: 125, key: 15 } as const

/** Whether `file` still declares them, so that the tour's lines work when pasted. */
export function declaresTour({ clients = [], users = [], event_types = [] }: File): boolean {
  return (
    clients.some(({ client_id }) => client_id === tourist.client) &&
    users.some(({ id }) => id === tourist.user) &&
    event_types.some(({ event }) => event === tourist.event)
  )
}
