//! The one table of actions: keymap, palette, slash commands, help and the generated docs are made from it.

/// Where an action belongs: the headings of help, palette and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Prompt,
    Turn,
    Session,
    Model,
    Panes,
    Reading,
    Commands,
    Program,
    Fields,
    Lists,
    Answers,
    CopyMode,
}

impl Scope {
    /// All, in the order in which they are shown.
    pub const ALL: [Scope; 12] = [
        Scope::Prompt,
        Scope::Turn,
        Scope::Session,
        Scope::Model,
        Scope::Panes,
        Scope::Reading,
        Scope::Commands,
        Scope::Program,
        Scope::Fields,
        Scope::Lists,
        Scope::Answers,
        Scope::CopyMode,
    ];

    /// Whether its actions mean something only where they are: in a field, a list, a question.
    pub fn is_local(self) -> bool {
        matches!(self, Scope::Fields | Scope::Lists | Scope::Answers | Scope::CopyMode)
    }

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Scope::Prompt => "Prompt",
            Scope::Turn => "Turn",
            Scope::Session => "Session",
            Scope::Model => "Model and look",
            Scope::Panes => "Panes",
            Scope::Reading => "Reading",
            Scope::Commands => "Processes",
            Scope::Program => "Program",
            Scope::Fields => "Text fields",
            Scope::Lists => "Lists and modals",
            Scope::Answers => "Questions",
            Scope::CopyMode => "Copy mode",
        }
    }
}

/// How an action is called from the composer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slash {
    /// Without the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What it takes, as shown: `[name]`; empty when nothing.
    pub argument: &'static str,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub action: Action,
    /// The name in `keymap.yaml`.
    pub name: &'static str,
    pub scope: Scope,
    /// One line, sentence case, no full stop.
    pub doc: &'static str,
    pub slash: Option<Slash>,
}

macro_rules! actions {
    ($($variant:ident $name:literal $scope:ident $doc:literal $(=> $slash:literal $aliases:expr, $argument:literal)?;)*) => {
        /// Everything a person can do with a key or a word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $doc] $variant),*
        }

        /// The table, in the order of help and palette.
        pub static ACTIONS: &[Entry] = &[$(Entry {
            action: Action::$variant,
            name: $name,
            scope: Scope::$scope,
            doc: $doc,
            slash: actions!(@slash $($slash $aliases, $argument)?),
        }),*];
    };
    (@slash) => { None };
    (@slash $slash:literal $aliases:expr, $argument:literal) => {
        Some(Slash { name: $slash, aliases: &$aliases, argument: $argument })
    };
}

actions! {
    Send "send" Prompt "Send; queue while a turn runs; on an empty composer, steer with the first queued prompt";
    SendOther "send-other" Prompt "Send; while a turn runs, steer instead of queue, or queue instead of steer";
    Newline "newline" Prompt "Start a new line";
    HistoryPrevious "history-previous" Prompt "Previous prompt";
    HistoryNext "history-next" Prompt "Next prompt, then the draft";
    HistorySearch "history-search" Prompt "Search prompt history" => "history" [], "";
    DraftPrevious "draft-previous" Prompt "Restore the stashed draft";
    PasteImage "paste-image" Prompt "Attach the clipboard image, or a file" => "image" ["paste"], "[path]";
    ExternalEditor "external-editor" Prompt "Edit the prompt in your editor, next to the conversation" => "prompt" ["compose"], "";
    Undo "undo" Prompt "Undo the last edit to the prompt";
    Redo "redo" Prompt "Redo the last undone edit";
    ViMode "vi-mode" Prompt "Toggle vi keys" => "vi" ["vim"], "[on|off]";
    StopTurn "stop-turn" Turn "Stop the turn; again to force" => "stop" [], "";
    Interrupt "interrupt" Turn "Copy the selection, else stop the turn, else stash the draft, else press twice to quit";
    QueuePrompt "queue" Turn "Queue a prompt to send after this turn" => "queue" ["q"], "<prompt>";
    QueueStrip "queue-strip" Turn "Go to the queued prompts";
    QueueEdit "edit-queued" Turn "Edit the selected queued prompt";
    QueueSteer "steer-queued" Turn "Steer the running turn with the selected queued prompt";
    QueueDrop "drop-queued" Turn "Drop the selected queued prompt";
    Busy "busy" Turn "Choose what sending does while a turn runs" => "busy" [], "[queue|steer|interrupt]";
    Retry "retry" Turn "Send the last prompt again" => "retry" [], "";
    Steer "steer" Turn "Steer the running turn at its next step" => "steer" [], "<text>";
    Inbox "inbox" Turn "Pending approvals and questions" => "approvals" ["inbox"], "[log [--kind KIND …]]";
    ApprovalMode "approval-mode" Turn "Next mode: ask, review, plan";
    Mode "mode" Turn "Choose the mode: what needs approval" => "mode" [], "[plan|review|ask|auto|yolo]";
    Permissions "permissions" Turn "List permission rules; test a command, revoke a rule" => "permissions" ["allowlist"], "[command]";
    PlanMode "plan-mode" Turn "Plan mode: read-only" => "plan" [], "";
    Yolo "yolo" Turn "Toggle yolo mode (run without asking)" => "yolo" [], "";
    SessionNew "new-session" Session "Open a new session in a tab" => "new" [], "";
    SessionClear "clear-session" Session "Start a new session in this tab" => "clear" ["reset"], "";
    SessionBrowser "session-browser" Session "Browse, search and resume sessions" => "sessions" ["resume", "switch"], "[words|@agent]";
    TabClose "close-tab" Session "Close the tab" => "close" [], "";
    TabList "tabs" Session "List the tabs" => "tabs" [], "";
    TabsRestore "restore-tabs" Session "Open the tabs of a killed window again" => "restore" [], "";
    NextTab "next-tab" Session "Next tab";
    PreviousTab "previous-tab" Session "Previous tab";
    Tab1 "tab-1" Session "First tab";
    Tab2 "tab-2" Session "Second tab";
    Tab3 "tab-3" Session "Third tab";
    Tab4 "tab-4" Session "Fourth tab";
    Tab5 "tab-5" Session "Fifth tab";
    Tab6 "tab-6" Session "Sixth tab";
    Tab7 "tab-7" Session "Seventh tab";
    Tab8 "tab-8" Session "Eighth tab";
    Tab9 "tab-9" Session "Ninth tab";
    Title "title" Session "Show or set the session title" => "title" [], "[title]";
    Rewind "rewind" Session "Go back to an earlier prompt: conversation, files, or both" => "rewind" [], "";
    UndoExchange "undo-exchange" Session "Undo the last exchange, with the files it changed" => "undo" [], "";
    RedoExchange "redo-exchange" Session "Redo the last undo or rewind" => "redo" [], "";
    UndoCommand "undo-command" Session "Undo what one command changed: the selected one, or the Nth last" => "undo-command" [], "[N]";
    Replay "replay" Session "Replay the session on a time line: conversation, terminals, plan, files" => "replay" ["timeline"], "";
    Fork "fork" Session "Fork the conversation into a new session" => "fork" ["branch"], "";
    SessionTree "session-tree" Session "The tree of forks of this session: look, switch" => "tree" ["branches"], "";
    Export "export" Session "Export the session to a file" => "export" ["save"], "[format or path]";
    Usage "usage" Session "Tokens and cost of the session" => "usage" ["cost", "status"], "";
    Stats "stats" Session "Tokens, tools and cost over time, as charts" => "stats" ["insights"], "[7|30|90|all]";
    Budget "budget" Session "Show budgets; +5 or +200k raises the hard limits of this session" => "budget" [], "[+amount]";
    ContextView "context" Session "What fills the context window: pin, shorten, leave out" => "context" [], "";
    Compact "compact" Session "Compact the conversation: a summary in place of old entries" => "compact" ["compress"], "[focus|show|edit|undo]";
    Diff "diff" Session "Files changed in this folder; of a worktree: look at them, take or drop them" => "diff" [], "[child|worktree]";
    WorktreeChanges "worktree-changes" Session "The changes in the worktree of a child: look at them, take or drop them";
    TurnDetails "turn-details" Session "What the last turn did: files, commands, checks; go to each" => "turn" [], "";
    Agents "agents" Session "All that works: tabs and their children, what waits for you first" => "agents" ["children"], "";
    ByTheWay "by-the-way" Session "Ask something during a turn; nothing of it is kept" => "btw" [], "<question>";
    Goal "goal" Session "A goal that the session works towards, turn after turn: set, pause, resume, clear it" => "goal" [], "[text|pause|resume|clear]";
    Worktree "worktree" Session "New session in a new git worktree and branch" => "worktree" [], "[name]";
    Plan "plan" Session "The to-do list" => "todo" [], "";
    ModelPicker "model-picker" Model "Choose a model" => "model" ["models"], "[provider:model]";
    LocalModels "local-models" Model "Models that run on this computer: use one, get one" => "local" [], "[name]";
    ModelCycle "model-next" Model "Next recently used model";
    ProviderKey "provider-key" Model "Sign in to a provider, or store a key" => "login" ["key"], "[provider]";
    Logout "logout" Model "Delete the logins of a provider" => "logout" [], "[provider]";
    EffortDown "effort-down" Model "Think less";
    EffortUp "effort-up" Model "Think more";
    Effort "effort" Model "Set the reasoning effort" => "effort" ["reasoning"], "none|minimal|low|medium|high|xhigh";
    SkinPicker "skin-picker" Model "Choose a skin" => "skin" [], "[name]";
    SkinNext "skin-next" Model "Next skin";
    ThemePicker "theme-picker" Model "Choose a theme" => "theme" [], "[name]";
    Tools "tools" Model "Tools: available, unavailable and why" => "tools" [], "";
    Backend "backend" Model "Choose where commands run" => "backend" [], "[name]";
    Toolsets "toolsets" Model "Toolsets of this session: state, cost, on and off" => "toolsets" [], "[a,b|default]";
    Mcp "mcp" Model "MCP servers: state, tools, cost, on and off" => "mcp" ["servers"], "[name|login name|reload]";
    Skills "skills" Model "Skills" => "skills" [], "";
    Plugins "plugins" Model "Plugins: state, tools, problems" => "plugins" ["plugin"], "";
    Hooks "hooks" Model "Hooks: commands that run at events" => "hooks" [], "";
    Trust "trust" Model "Review what this folder would run" => "trust" [], "";
    Policy "policy" Model "Review changes to the policy files" => "policy" [], "";
    Memory "memory" Model "Show the memory" => "memory" ["mem"], "";
    ToggleTerminal "toggle-terminal" Panes "Open or close the terminal pane";
    NextTerminal "next-terminal" Panes "Show the next terminal";
    PreviousTerminal "previous-terminal" Panes "Show the previous terminal";
    SplitTerminal "split-terminal" Panes "Split the terminal pane, or unsplit it" => "split" [], "";
    OtherTerminal "other-terminal" Panes "Go to the other terminal";
    GrowPane "grow-pane" Panes "Make the terminal pane taller";
    ShrinkPane "shrink-pane" Panes "Make the terminal pane shorter";
    WidenSidebar "widen-sidebar" Panes "Make the sidebar wider";
    NarrowSidebar "narrow-sidebar" Panes "Make the sidebar narrower";
    FocusComposer "focus-composer" Panes "Back to the composer";
    ToggleSidebar "toggle-sidebar" Panes "Show or hide the sidebar" => "sidebar" [], "";
    StatusBar "status-bar" Panes "Show or hide the status bar" => "statusbar" ["sb"], "[on|off]";
    Indicator "indicator" Panes "Choose the activity indicator" => "indicator" [], "[kaomoji|emoji|unicode|ascii]";
    FocusNext "focus-next" Panes "Focus the next pane";
    FocusLeft "focus-left" Panes "Focus the pane to the left";
    FocusRight "focus-right" Panes "Focus the pane to the right";
    FocusUp "focus-up" Panes "Focus the pane above";
    FocusDown "focus-down" Panes "Focus the pane below";
    ScrollUp "scroll-up" Reading "Scroll up";
    ScrollDown "scroll-down" Reading "Scroll down";
    PageUp "page-up" Reading "Page up";
    PageDown "page-down" Reading "Page down";
    ToStart "to-start" Reading "To the top";
    ToEnd "to-end" Reading "To the bottom, and follow";
    SelectPrevious "select-previous" Reading "Select the entry above";
    SelectNext "select-next" Reading "Select the entry below";
    Expand "expand" Reading "Expand or fold the selected entry";
    ExpandAll "expand-all" Reading "Expand or fold every tool call";
    Details "details" Reading "Show or hide all details of tool calls" => "details" ["detail"], "";
    Find "find" Reading "Find in the conversation or the command output" => "find" [], "[words]";
    FindNext "find-next" Reading "Next match";
    FindPrevious "find-previous" Reading "Previous match";
    CopyMode "copy-mode" Reading "Select with the keyboard in the focused pane";
    CopySelection "copy-cell" Reading "Copy the selection, or the selected entry";
    Copy "copy-answer" Reading "Copy the last answer, or the n-th from the end" => "copy" [], "[n]";
    ReleaseMouse "release-mouse" Reading "Toggle mouse capture" => "mouse" ["scroll"], "";
    TakeOver "take-over" Commands "Take over the shown command; again to return";
    BackgroundCommand "background-command" Commands "Send the running command, or the children that a call waits for, to the background; with a prompt, start a session there" => "bg" ["background"], "[prompt]";
    KillProcess "kill-process" Commands "Kill the shown command, after confirming";
    ForgetProcess "forget-process" Commands "Remove an exited command from the list";
    Processes "processes" Commands "List processes" => "processes" ["tasks", "ps"], "";
    LineStart "line-start" Fields "To the start of the line";
    LineEnd "line-end" Fields "To the end of the line";
    CharLeft "char-left" Fields "A character to the left";
    CharRight "char-right" Fields "A character to the right";
    WordLeft "word-left" Fields "A word to the left";
    WordRight "word-right" Fields "A word to the right";
    DeleteChar "delete-char" Fields "Delete the character after the caret";
    DeleteCharBack "delete-char-back" Fields "Delete the character before the caret";
    DeleteWord "delete-word" Fields "Delete the word after the caret";
    DeleteWordBack "delete-word-back" Fields "Delete the word before the caret";
    DeleteToEnd "delete-to-end" Fields "Delete to the end of the line";
    DeleteToStart "delete-to-start" Fields "Delete to the start of the line";
    Yank "yank" Fields "Paste the last deletion";
    Accept "accept" Lists "Confirm the selection";
    Close "close" Lists "Close without changes";
    Previous "previous" Lists "The entry above";
    Next "next" Lists "The entry below";
    Left "left" Lists "To the left";
    Right "right" Lists "To the right";
    Up "up" Lists "Up";
    Down "down" Lists "Down";
    Switch "switch" Lists "Switch between the choices";
    Yes "yes" Lists "Yes";
    No "no" Lists "No";
    Refresh "refresh" Lists "Reload the list";
    Here "here" Lists "Sessions of all folders, of this folder, of other agents, the archive, the trash";
    SessionActions "session-menu" Lists "What can be done with the selected session";
    Rename "rename" Lists "Set the title of the selected session";
    TagSession "tag-session" Lists "Set the tags of the selected session";
    PinSession "pin-session" Lists "Pin the selected session to the top, or unpin it";
    ArchiveSession "archive-session" Lists "Archive the selected session, or bring it back";
    DeleteSession "delete-session" Lists "Move the selected session to the trash; in the trash, delete it after confirming";
    ForkSession "fork-session" Lists "Fork the selected session; in a rewind, before the selected prompt";
    SelectedTree "fork-tree" Lists "The tree of forks of the selected session";
    OpenTab "open-tab" Lists "Open the selected agent in a tab";
    TakeChange "take-change" Lists "Take the selected file or hunk into this folder";
    TakeAll "take-all" Lists "Take all that is in the list into this folder";
    DropChange "drop-change" Lists "Drop the selected file or hunk from the list";
    DropWorktree "drop-worktree" Lists "Remove the worktree and its branch, after confirming";
    ExportSession "export-session" Lists "Export the selected session as Markdown";
    RestoreSession "restore-session" Lists "Restore the selected session from the trash, or the one moved there last";
    Play "play" Lists "Play the time line, or stop";
    PlaySpeed "play-speed" Lists "Play at 1×, 4× or 16×";
    Jump0 "jump-0" Lists "To the start of the time line";
    Jump1 "jump-1" Lists "To 10 % of the time line";
    Jump2 "jump-2" Lists "To 20 % of the time line";
    Jump3 "jump-3" Lists "To 30 % of the time line";
    Jump4 "jump-4" Lists "To 40 % of the time line";
    Jump5 "jump-5" Lists "To 50 % of the time line";
    Jump6 "jump-6" Lists "To 60 % of the time line";
    Jump7 "jump-7" Lists "To 70 % of the time line";
    Jump8 "jump-8" Lists "To 80 % of the time line";
    Jump9 "jump-9" Lists "To 90 % of the time line";
    RangeWeek "range-week" Lists "Figures of the last 7 days";
    RangeMonth "range-month" Lists "Figures of the last 30 days";
    RangeQuarter "range-quarter" Lists "Figures of the last 90 days";
    RangeAll "range-all" Lists "Figures of all time";
    CopyAddress "copy-address" Lists "Copy the address to sign in at";
    CancelDownload "cancel-download" Lists "Cancel the download of a model, after confirming";
    KeepProcess "keep-process" Lists "Let the selected command go on, or end it, when the program is left";
    KeepAll "keep-all" Lists "Let all commands go on, or none";
    Deny "deny" Answers "Deny, and say why";
    AllowOnce "allow-once" Answers "Allow once, when it is confirmed";
    AllowSession "allow-session" Answers "Allow these effects for this session, when it is confirmed";
    AllowAlways "allow-always" Answers "Allow always, when it is confirmed";
    EditCommand "edit-command" Answers "Edit the command";
    Unfold "unfold" Answers "Show all of a long command, or its head and tail";
    Choose1 "choose-1" Answers "First choice";
    Choose2 "choose-2" Answers "Second choice";
    Choose3 "choose-3" Answers "Third choice";
    Choose4 "choose-4" Answers "Fourth choice";
    Choose5 "choose-5" Answers "Fifth choice";
    Choose6 "choose-6" Answers "Sixth choice";
    Choose7 "choose-7" Answers "Seventh choice: your own answer";
    RewindBoth "rewind-both" Answers "Select the conversation and its files";
    RewindConversation "rewind-conversation" Answers "Select the conversation alone";
    RewindFiles "rewind-files" Answers "Select the files alone";
    OverwriteFiles "overwrite-files" Answers "Include files changed elsewhere";
    TakePolicy "take-policy" Answers "Take the policy as it is on disk now";
    KeepPolicy "keep-policy" Answers "Keep the policy that the session began with";
    WordEnd "word-end" CopyMode "To the end of the word";
    HalfPageUp "half-page-up" CopyMode "Half a page up";
    HalfPageDown "half-page-down" CopyMode "Half a page down";
    Mark "mark" CopyMode "Start or end marking";
    MarkLine "mark-line" CopyMode "Mark whole rows";
    CopyMarked "copy" CopyMode "Copy the marked text";
    CommandPalette "command-palette" Program "Every action, command and skill";
    Help "help" Program "Keys and commands" => "help" ["commands"], "";
    Keys "keys" Program "Keys" => "keys" [], "";
    Config "config" Program "Show the configuration and its sources" => "config" [], "";
    Doctor "doctor" Program "Check the setup" => "doctor" ["debug"], "";
    Reload "reload" Program "Reload the configuration, keys and skills" => "reload" [], "";
    Redraw "redraw" Program "Repaint the screen" => "redraw" [], "";
    Suspend "suspend" Program "Suspend to the shell";
    Quit "quit" Program "Quit" => "quit" ["exit"], "";
}

impl Action {
    /// The action of a name in a keymap.
    pub fn from_name(name: &str) -> Option<Action> {
        ACTIONS.iter().find(|entry| entry.name == name).map(|entry| entry.action)
    }

    /// Its row.
    pub fn entry(self) -> Option<&'static Entry> {
        ACTIONS.iter().find(|entry| entry.action == self)
    }

    /// The name in a keymap.
    pub fn name(self) -> &'static str {
        self.entry().map_or("", |entry| entry.name)
    }
}

/// The command of a word: exact name or alias, case and a leading slash ignored.
pub fn slash(word: &str) -> Option<&'static Entry> {
    let word = word.strip_prefix('/').unwrap_or(word).to_lowercase();
    ACTIONS
        .iter()
        .find(|entry| entry.slash.is_some_and(|slash| slash.name == word || slash.aliases.contains(&word.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_kebab_case_and_find_their_action() {
        let mut names = BTreeSet::new();
        for entry in ACTIONS {
            assert!(names.insert(entry.name), "{} stands twice", entry.name);
            assert!(
                entry.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                entry.name
            );
            assert_eq!(Action::from_name(entry.name), Some(entry.action));
            assert_eq!(entry.action.name(), entry.name);
            assert!(!entry.doc.ends_with('.') && !entry.doc.is_empty());
        }
    }

    #[test]
    fn every_bound_name_is_an_action() {
        let keymap = crate::config::keymap::Keymap::defaults().expect("the default keymap");
        for name in keymap.actions() {
            assert!(Action::from_name(name).is_some(), "{name} is bound and means nothing");
        }
    }

    #[test]
    fn slash_words_are_unique() {
        let mut words = BTreeSet::new();
        for slash in ACTIONS.iter().filter_map(|entry| entry.slash) {
            assert!(words.insert(slash.name), "/{} stands twice", slash.name);
            for alias in slash.aliases {
                assert!(words.insert(alias), "/{alias} stands twice");
            }
        }
    }

    #[test]
    fn slash_words_resolve() {
        for (word, name) in [
            ("help", Some("help")),
            ("/help", Some("help")),
            ("HELP", Some("help")),
            ("reset", Some("clear-session")),
            ("exit", Some("quit")),
            ("he", None),
        ] {
            assert_eq!(slash(word).map(|entry| entry.name), name, "{word}");
        }
    }
}
