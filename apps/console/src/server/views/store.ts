/** A saved view: the filters of a screen under a name, of one person. */
export interface SavedView {
  readonly id: string
  /** The screen, by its path in the console. */
  readonly screen: string
  readonly name: string
  /** Search parameters of the screen's address. */
  readonly filters: Readonly<Record<string, string>>
}

/** The most views that one person has. */
export const maxViews = 50

/** The saved views. Each method is one atomic step. */
export interface SavedViews {
  /** The views of a person for a screen, by name. */
  list(userId: string, screen: string): Promise<readonly SavedView[]>
  /** Saves a view; one of the same screen and name is replaced. False when the person has too many. */
  save(userId: string, view: SavedView, now: number): Promise<boolean>
  /** Removes a view. False when the person has none with this id. */
  remove(userId: string, id: string): Promise<boolean>
}
