import { useMay } from '../api/session.tsx'
import { useSettings } from '../texts/settings.tsx'
import { type Section, sections } from './navigation.ts'

/** The sections that there are for the person: their roles allow them, their services are there, and they want them. */
export function useSections(): readonly Section[] {
  const may = useMay()
  const { settings } = useSettings()
  return sections.filter(
    ({ id, action }) => (action === undefined || may(action)) && (id !== 'start' || settings.showsStart),
  )
}
