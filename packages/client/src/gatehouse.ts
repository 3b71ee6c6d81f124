import { type BulkLine, type BulkOptions, notifyBulk } from './bulk/notify-bulk.ts'
import { call } from './call/call.ts'
import { type ClientConnection, type ConnectionOptions, connect } from './call/connection.ts'
import type { CallOptions } from './call/request.ts'
import type { OperationFacts } from './operations/operation-facts.ts'
import { type Input, requestOf } from './operations/operation-request.ts'
import { operations } from './operations/operations.gen.ts'
import type { Acceptance, Api, NotifyRequest, Operations, StreamId } from './operations/types.gen.ts'
import { List, type ListPage } from './paging/list.ts'
import type { ServerSentEvent } from './stream/event-parser.ts'
import { events, type StreamOptions } from './stream/events.ts'

/** A client of the Gatehouse APIs: a method for each operation, and what they are put together to. */
export interface Gatehouse extends Api {
  /**
   * Sends a notification; resolves once it is committed. Without a `dedup_key` it gets a random one, the same at every
   * attempt; one that was accepted at an earlier attempt answers the same ids, with the outcome `duplicate`. A call that
   * failed may have been accepted too: name a `dedup_key` where you would call again, since each call makes another.
   */
  notify(event: NotifyRequest, options?: CallOptions): Promise<Acceptance>
  /** Sends many notifications, in order and in bounded memory; yields what became of each. */
  notifyBulk<Event extends NotifyRequest>(
    events: Iterable<Event> | AsyncIterable<Event>,
    options?: BulkOptions,
  ): AsyncGenerator<BulkLine<Event>, void, undefined>
  /** The stream of an operation that can also be read by pages. */
  stream<Id extends StreamId>(
    id: Id,
    input?: Operations[Id]['input'],
    options?: StreamOptions,
  ): AsyncGenerator<ServerSentEvent, void, undefined>
  /** For calls of other operations, by `call`. */
  readonly connection: ClientConnection
}

/**
 * Creates a client of the Gatehouse APIs.
 *
 * @throws TypeError when the address is neither https nor on loopback
 * @example
 * ```ts
 * const credentials = clientCredentials({ issuer, clientId, clientSecret })
 * const gatehouse = createGatehouse({ baseUrl: 'https://api.example.com', credentials })
 * await gatehouse.notify({ event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } })
 * ```
 */
export function createGatehouse(options: ConnectionOptions): Gatehouse {
  const connection = connect(options)
  const root: Group = {}
  for (const [id, facts] of Object.entries(operations)) {
    const names = id.split('.')
    const verb = names.pop() as string
    let group = root
    for (const name of names) {
      group[name] ??= {}
      group = group[name] as Group
    }
    group[verb] = methodOf(connection, id, facts)
  }
  return {
    ...(root as unknown as Api),
    notify: (root as unknown as Api).notifications.send,
    notifyBulk: (all, bulkOptions) => notifyBulk(connection, all, bulkOptions),
    stream: (id, input, streamOptions) =>
      events(connection, requestOf(id, operations[id], input as Input), streamOptions),
    connection,
  }
}

type Method = (input?: Input, options?: CallOptions) => unknown

interface Group {
  [name: string]: Group | Method
}

/** How an operation is called: a list by pages, a stream by its events, any other by one call. */
function methodOf(connection: ClientConnection, id: string, facts: OperationFacts): Method {
  if (facts.stream) return (input, options) => events(connection, requestOf(id, facts, input), options)
  if (!facts.page) return (input, options) => call(connection, requestOf(id, facts, input), options)
  return (input, options) =>
    new List((cursor) =>
      call<ListPage<unknown>>(
        connection,
        requestOf(id, facts, cursor === undefined ? input : { ...input, cursor }),
        options,
      ),
    )
}
