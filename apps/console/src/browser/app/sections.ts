import { useMay } from '../api/session.tsx'
import { type Section, sections } from './navigation.ts'

/** The sections that there are for the person: their roles allow them, and their services are there. */
export function useSections(): readonly Section[] {
  const may = useMay()
  return sections.filter(({ action }) => action === undefined || may(action))
}
