"""The promises for long-running servers and stored indexes, and the tests of each."""

PROMISES: dict[str, tuple[str, ...]] = {
    "The cost of a condition is linear in its length; its length, depth and lists are limited; a query is cancelled in "
    "the engine when its time is over, and does not delay others.": (
        "index/filters/test_filters.py::test_the_work_grows_with_the_list_and_not_with_its_square",
        "index/filters/test_filters.py::test_what_is_not_understood_is_shown",
        "index/test_limits.py::test_a_query_is_cancelled_when_its_time_is_over",
        "index/test_limits.py::test_a_long_list_is_answered_at_once_and_others_do_not_wait",
        "index/test_pgvector_away.py::test_a_query_is_cancelled_in_the_server_when_its_time_is_over",
        "index/test_pgvector_away.py::test_lists_of_any_length_mean_the_same_and_are_one_parameter",
        "serving/test_limits.py::test_a_laborious_condition_holds_up_only_those_like_it",
        "serving/test_limits.py::test_a_long_text_does_not_hold_up_those_who_type",
        "serving/test_limits.py::test_lists_that_nobody_waits_for_any_more_do_not_pile_up",
        "faults/test_requests.py::test_laborious_conditions",
    ),
    "A small file never expands to gigabytes or hours: sides, areas and lengths are checked in the header, parts are "
    "counted, images are decoded at the size that is needed, and simultaneous decoding is limited.": (
        "media/test_memory.py::test_an_image_of_very_many_parts_is_refused_before_it_is_decoded",
        "media/test_svg.py::test_hostile_drawings_get_their_reason",
        "media/test_svg.py::test_what_a_few_bytes_repeat_without_end_is_left_out",
        "media/test_memory.py::test_a_row_of_millions_of_pixels_is_refused_by_its_header",
        "media/test_memory.py::test_any_mix_of_images_keeps_within_the_memory_of_one",
        "media/test_pixels.py::test_a_small_file_with_many_pixels_takes_little_more_than_its_raster",
        "media/test_audio.py::test_a_small_file_of_minutes_takes_little_more_memory_than_its_sound",
        "media/test_audio.py::test_a_day_of_silence_is_refused_before_it_is_decoded",
        "serving/test_uploads.py::test_large_images_of_several_people_are_not_decoded_together",
        "serving/test_limits.py::test_the_files_of_a_request_decode_to_a_limit_together",
        "serving/test_uploads.py::test_the_server_stays_small_whatever_is_uploaded",
        "faults/test_clients.py::test_uploads",
    ),
    "An index can be replaced while it is served and written to, without losing an acknowledged write.": (
        "search/test_generation.py::test_whoever_has_it_open_follows_and_writes_into_the_new_one",
        "search/test_generation.py::test_nothing_acknowledged_is_lost_while_it_is_rebuilt",
        "faults/test_operations.py::test_replaced_index",
        "faults/test_kills.py::test_kills_of_online_rebuild",
    ),
    "Clients that send slowly, or do not read, do not use up connections, descriptors or memory.": (
        "serving/test_connections.py::test_headers_have_to_come_in_time",
        "serving/test_connections.py::test_half_sent_bodies_make_way_too",
        "serving/test_connections.py::test_few_descriptors_and_many_half_sent_headers",
        "serving/test_connections.py::test_answers_have_to_be_read",
        "faults/test_clients.py::test_slow_senders",
        "faults/test_clients.py::test_slow_readers",
    ),
    "`like` is matched without backtracking, in every engine.": (
        "index/filters/test_filters.py::test_like_does_not_backtrack",
        "index/filters/test_filters.py::test_like_without_backtracking_is_like",
        "faults/test_backends.py::test_milvus",
    ),
    "Images and thumbnails are as durable as the index: after a kill, readers see everything acknowledged.": (
        "search/test_media_store.py::test_a_reader_after_a_kill_sees_what_was_acknowledged",
        "search/test_media_store.py::test_a_writer_brings_an_earlier_store_to_the_same_rules",
    ),
    "Wrong keys are counted by address on every route; forwarding headers are trusted only from named proxies.": (
        "serving/test_limits.py::test_guesses_are_limited_on_every_route_without_any_rate",
        "serving/test_limits.py::test_a_claimed_forwarding_does_not_escape_the_count",
        "serving/test_limits.py::test_metrics_count_against_the_rate",
        "serving/test_connections.py::test_rotating_forwarded_addresses_escape_only_where_the_proxy_is_trusted",
        "faults/test_requests.py::test_key_guesses",
        "faults/test_requests.py::test_forwarded_addresses",
    ),
    "If a database is stopped, frozen, restarted or locked, requests get 503 with `Retry-After` in a few seconds, "
    "without its address; the server recovers by itself once it is back.": (
        "index/test_pgvector_away.py::test_a_stopped_server_is_told_and_the_first_request_after_it_is_back_is_answered",
        "index/test_pgvector_away.py::test_a_frozen_server_is_told_in_seconds",
        "index/test_milvus.py::test_a_server_that_is_away_or_frozen_is_told_in_seconds",
        "index/test_limits.py::test_a_writer_that_others_keep_waiting_is_told_in_time",
        "serving/test_unavailable.py::test_every_address_says_come_back",
        "serving/test_unavailable.py::test_readiness_does_not_wait_for_a_backend_that_hangs",
        "faults/test_backends.py::test_postgresql",
        "faults/test_backends.py::test_postgresql_away_at_the_start",
    ),
    "Reported reliability is measured on the index as it is searched.": (
        "search/test_calibration.py::test_reported_reliability_is_that_of_the_index_as_it_is_searched",
    ),
    "No flipped bit gives a silently wrong answer; it is reported in a sentence, and `diptych verify` finds it.": (
        "index/local/test_integrity.py::test_no_flipped_bit_of_the_database_gives_a_wrong_answer",
        "index/local/test_integrity.py::test_no_flipped_bit_of_a_derived_file_changes_an_answer",
        "methods/test_hostile_models.py::test_flipped_weights_are_refused",
        "cli/test_maintenance.py::test_a_changed_byte_is_found",
        "faults/test_flipped_bits.py::test_bits_of_an_index",
        "faults/test_flipped_bits.py::test_bits_of_a_model",
        "faults/test_flipped_bits.py::test_bits_of_a_backup",
    ),
    "Folders are replaced atomically, leftovers of killed processes are removed, a full disk is reported clearly.": (
        "core/test_files.py::test_a_folder_is_replaced_without_a_moment_in_which_it_is_absent",
        "core/test_files.py::test_a_crash_between_two_renames_is_mended_where_folders_cannot_be_exchanged",
        "core/test_files.py::test_what_a_killed_process_leaves_is_swept_up_and_what_is_in_use_stays",
        "cli/test_main.py::test_a_full_disk_and_a_lost_database_are_sentences_in_every_command",
        "search/test_writer.py::test_a_full_disk_after_an_item_was_removed_is_no_error",
        "faults/test_kills.py::test_kills_of_fit",
        "faults/test_disk_full.py::test_commands",
        "faults/test_disk_full.py::test_server",
    ),
    "A long body or URL does not delay others, however it is sent, and no body is read before the key is checked.": (
        "serving/test_connections.py::test_chunks_have_to_hold_more_content_than_lengths",
        "serving/test_keys.py::test_every_route_asks_for_the_key_before_it_looks_at_the_request",
        "serving/test_limits.py::test_an_address_of_thousands_of_parameters_is_not_read",
        "serving/test_limits.py::test_of_a_hundred_thousand_mistakes_the_number_is_told",
        "serving/test_limits.py::test_json_with_millions_of_values_holds_nobody_up",
        "serving/test_limits.py::test_json_has_a_limit_of_its_own_and_says_what_to_do",
        "faults/test_requests.py::test_hostile_requests",
    ),
    "No change is made that is not a whole line of the audit log; no request makes the log of the server longer.": (
        "serving/test_named_keys.py::test_every_change_is_written_down",
        "serving/test_named_keys.py::test_a_line_that_is_cut_off_by_a_full_disk_is_no_line",
        "serving/test_named_keys.py::test_no_id_ends_a_line_or_steers_a_terminal",
        "serving/test_connections.py::test_what_clients_send_makes_no_log_longer",
        "faults/test_requests.py::test_hostile_requests",
    ),
    "Everything that can be added can be fetched, and the size of metadata is limited.": (
        "serving/test_limits.py::test_an_id_that_no_address_can_hold_is_refused",
        "serving/test_limits.py::test_ids_that_can_be_added_can_be_fetched",
        "serving/test_limits.py::test_metadata_has_a_limit",
    ),
    "A server without a key answers only under its own host names.": (
        "serving/test_limits.py::test_a_server_without_a_key_answers_to_no_strange_name",
    ),
    "`optimise` and `snapshot` wait for other writers for a limited time.": (
        "index/local/test_backup.py::test_optimise_and_snapshot_wait_with_a_limit",
    ),
    "Temporary folders of the metrics do not accumulate.": (
        "serving/test_connections.py::test_folders_of_figures_are_swept_up",
    ),
    "Messages of a server never contain its file paths.": (
        "serving/test_hostile.py::test_places_on_this_machine_are_left_out_of_messages",
        "search/test_hostile_folder.py::test_no_error_says_where_the_index_lies",
    ),
    "A model, dataset or index folder that was tampered with is refused with a clear error.": (
        "methods/test_hostile_models.py::test_any_value_of_the_document_may_be_wrong_or_missing",
        "data/test_hostile_datasets.py::test_any_value_in_the_head",
        "search/test_hostile_folder.py::test_a_changed_file_is_told_in_a_sentence",
    ),
    "Backups can be written and restored while the index is written to.": (
        "index/local/test_backup.py::test_backups_under_continuous_writes_are_states_that_there_were",
        "search/test_backup.py::test_backups_under_continuous_writes_hold_all_that_was_acknowledged",
        "faults/test_operations.py::test_snapshots",
        "faults/test_kills.py::test_kills_of_restore",
    ),
    "An index of an earlier format is upgraded in place, completely or not at all.": (
        "index/local/test_integrity.py::test_an_index_of_format_1_is_upgraded_when_it_is_written",
        "index/test_crash.py::test_a_kill_during_an_upgrade_leaves_the_former_format_or_the_new_one",
    ),
    "Several machines produce the same bytes as one, even if a worker dies.": (
        "ingest/test_cluster.py::test_two_workers_make_the_bytes_of_one_process",
        "ingest/test_cluster.py::test_a_killed_worker_changes_nothing",
        "faults/test_operations.py::test_killed_worker",
        "faults/test_operations.py::test_rsicd_on_two_workers",
    ),
}
"""The tests of each promise: file under `tests` and function."""
