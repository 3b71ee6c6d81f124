import { useMemo } from 'react'
import { useTexts } from '../../texts/settings.tsx'
import { wordOf } from './word-of.ts'

/** Words for the codes that the APIs answer, by kind. */
export function useWords() {
  const { codes } = useTexts()
  return useMemo(
    () => ({
      channel: (code: string) => wordOf(codes.channels, code),
      priority: (code: string) => wordOf(codes.priorities, code),
      state: (code: string) => wordOf(codes.states, code),
      outcome: (code: string) => wordOf(codes.outcomes, code),
      what: (code: string) => wordOf(codes.timeline, code),
      reason: (code: string) => wordOf(codes.reasons, code),
      suppression: (code: string) => wordOf(codes.suppressions, code),
    }),
    [codes],
  )
}
