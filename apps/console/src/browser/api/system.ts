import type { Drift, EffectiveValue, SetupStep, SystemStatus, TableSize } from '@gatehouse/client'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { callConsole } from './call.ts'

/** What the processes answer, by the part of the system that is asked for. */
interface Parts {
  readonly status: SystemStatus
  readonly setup: { readonly items: readonly SetupStep[] }
  readonly storage: { readonly items: readonly TableSize[] }
  readonly drift: { readonly items: readonly Drift[] }
  readonly config: { readonly items: readonly EffectiveValue[] }
}

/** What the process with these services answered, or why it did not. */
export interface ProcessAnswer<Answer> {
  readonly services: readonly string[]
  readonly answer?: Answer
  readonly problem?: { readonly status: number; readonly detail: string }
}

/** What is read of the system: an answer of each process. */
export type SystemAnswer<Answer> = readonly ProcessAnswer<Answer>[]

const refreshMs = 15_000

/** Asks every process for a part of the system. */
export function useSystem<Part extends keyof Parts>(part: Part): UseQueryResult<SystemAnswer<Parts[Part]>> {
  return useQuery({
    queryKey: ['system', part],
    queryFn: async ({ signal }) =>
      (await callConsole<{ items: SystemAnswer<Parts[Part]> }>('GET', `/system/${part}`, signal)).items,
    refetchInterval: refreshMs,
  })
}

/** What the processes that answered have in common: the values of all of them. */
export function gather<Answer, Item>(
  answers: SystemAnswer<Answer>,
  select: (answer: Answer) => readonly Item[],
): readonly Item[] {
  return answers.flatMap(({ answer }) => (answer === undefined ? [] : select(answer)))
}
