import { ApiError } from '@gatehouse/client'
import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryOptions,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { type ActionId, actions, type InputOf, type ItemOf, type OutputOf } from '../../actions/index.ts'
import { callOperation } from './call.ts'
import { keepPages } from './keep-pages.ts'
import { useOnePress } from './press.ts'
import { isSignedOut } from './problem.ts'

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next?: string
}

const staleMs = 10_000

/**
 * Creates the cache of answers. A refused call is not repeated by itself; one that got no answer is, once. What the
 * browser thinks of the network decides nothing: a console on this machine works without one, and a call that is kept
 * until there is one would be made when nobody expects it any more.
 */
export function createQueries(onSignedOut: () => void): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: staleMs,
        retry: (failures, error) => !(error instanceof ApiError || isSignedOut(error)) && failures < 1,
        refetchOnWindowFocus: true,
        refetchOnReconnect: true,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  })
  const watch = ({ type, action }: { type: string; action?: { type: string; error?: unknown } }) => {
    if (type === 'updated' && action?.type === 'error' && isSignedOut(action.error)) onSignedOut()
  }
  client.getQueryCache().subscribe(watch)
  client.getMutationCache().subscribe(watch)
  return client
}

/** Reads what an action's operation answers. Older data stays while it is read again. */
export function useRead<Id extends ActionId>(
  id: Id,
  input?: InputOf<Id>,
  enabled = true,
): UseQueryResult<OutputOf<Id>> {
  const { operation } = actions[id]
  return useQuery<OutputOf<Id>>({
    queryKey: [operation, input],
    queryFn: async ({ signal }) => callOperation(operation, input, { signal }),
    placeholderData: keepPreviousData,
    enabled,
  } as UseQueryOptions<OutputOf<Id>>)
}

/** Reads a list page by page. */
export function usePages<Id extends ActionId>(
  id: Id,
  input?: InputOf<Id>,
): UseInfiniteQueryResult<InfiniteData<Page<ItemOf<Id>>, string | undefined>> {
  const { operation } = actions[id]
  return useInfiniteQuery({
    queryKey: [operation, 'pages', input],
    queryFn: async ({ pageParam, signal }) =>
      callOperation(operation, { ...input, cursor: pageParam } as InputOf<Id>, { signal }) as Promise<Page<ItemOf<Id>>>,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    maxPages: 5,
    structuralSharing: keepPages,
    // Rows never move under the reader: what is new is behind a button.
    refetchOnWindowFocus: false,
  })
}

/** Adds to the input of an action what presses are not compared by. */
export type Complete<Id extends ActionId> = (input: InputOf<Id>) => Promise<InputOf<Id>>

/** Does an action, once for a double click; afterwards what it changes is read again. */
export function useAction<Id extends ActionId>(
  id: Id,
  complete?: Complete<Id>,
): UseMutationResult<OutputOf<Id>, Error, InputOf<Id>> {
  const client = useQueryClient()
  const press = useOnePress<InputOf<Id>, OutputOf<Id>>()
  return useMutation<OutputOf<Id>, Error, InputOf<Id>>({
    mutationFn: (input) =>
      press(input, async () => callOperation(actions[id].operation, (await complete?.(input)) ?? input)),
    onSuccess: () => readAgain(client, id),
  })
}

/** Reads again what an action changes. */
export async function readAgain(client: QueryClient, id: ActionId): Promise<void> {
  await Promise.all(actions[id].invalidates.map((name) => client.invalidateQueries({ queryKey: [name] })))
}
