import { useTexts } from '../texts/settings.tsx'
import type { JsonFault } from './json-fault.ts'

/** Says where a text is not the JSON that is expected, and what is expected there. */
export function useJsonWords(): (fault: JsonFault | undefined) => string | undefined {
  const t = useTexts()
  return (fault) => fault && t.json.place(fault.line, fault.column, t.json.expected[fault.expected])
}
